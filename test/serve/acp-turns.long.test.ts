import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { connectBroker } from '@signalbox/client';
import { followTail, servedParts } from '@signalbox/client/operator';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { isRunning } from '../support/processes.ts';
import { type AcpStage, startAcpStage } from '../support/serve/acp-stage.ts';
import { type ServedAcp, serveAcp } from '../support/serve/served-acp.ts';

let stage: AcpStage;

beforeAll(async () => {
  stage = await startAcpStage();
});
afterAll(() => stage?.[Symbol.asyncDispose]());

/** Sends a message that an agent fails on, and resolves with the reason of the turn. No further turn begins for it. */
async function failure(served: ServedAcp, agent: string, steps: string | object[]): Promise<unknown> {
  const before = served.events('turn_ended').length;
  const withdrawing = new AbortController();
  const asked = stage.ask(agent, steps, { signal: withdrawing.signal });
  await expect.poll(() => served.events('turn_ended').length).toBeGreaterThan(before);
  withdrawing.abort();
  await asked;
  return served.events('turn_ended')[before]?.reason;
}

test('The answer is the last message alone, also among updates that nobody knows, and each failure tells its reason.', async () => {
  await using served = await serveAcp(stage.workspace, 'speaker');
  const steps = [
    { text: '**Warning:** a notice without an id' },
    { text: 'I look at it.', id: 'm1' },
    { raw: 'this is no JSON' },
    { update: { sessionUpdate: 'of_tomorrow', what: { ever: 1 } } },
    { update: { sessionUpdate: 'agent_message_chunk', content: 'malformed' } },
    { update: { sessionUpdate: 'tool_call', toolCallId: 't1', title: 'look' } },
    { text: 'It is ', id: 'm2' },
    { text: '4.', id: 'm2' },
  ];
  expect(await stage.ask('speaker', steps)).toBe('It is 4.');
  const error = { code: -32603, message: 'Internal error', data: { errorKind: 'overloaded' } };
  expect(await failure(served, 'speaker', [{ text: 'half' }, { error }])).toBe(
    'its agent failed: error -32603: Internal error {"errorKind":"overloaded"}',
  );
  expect(await stage.ask('speaker', [{ text: 'A, B' }, { stop: 'max_tokens' }])).toMatch(
    /^\[the model reached .*\]\nA, B$/,
  );
  const asking = { toolCallId: 't2', title: 'x', rawInput: { a: 1 } };
  expect(await failure(served, 'speaker', [{ asking }, { exit: 3 }])).toBe(
    'its program ended with exit code 3: no money',
  );
  expect(await stage.ask('speaker', 'still there?')).toContain('turn 1');
  expect(await failure(served, 'speaker', [{ long: 20_000_000 }])).toMatch(/^its agent failed: .*16777216/);
  await served.stop();
});

test('An error of the model is no answer, although codex and copilot end the turn well with it.', async () => {
  await using codex = await serveAcp(stage.workspace, 'cody', { as: 'codex-acp', args: ['--mode', 'plan'] });
  expect(await failure(codex, 'cody', [{ text: 'unexpected status 400' }])).toBe(
    'its agent failed: unexpected status 400',
  );
  await using copilot = await serveAcp(stage.workspace, 'pilot', {
    as: 'copilot',
    words: ['--acp'],
    args: ['--no-inject'],
  });
  expect(await failure(copilot, 'pilot', [{ text: 'Error: 400 bad request' }])).toBe(
    'its agent failed: Error: 400 bad request',
  );
  const retries = { text: 'Info: Request failed due to a transient API error. Retrying...' };
  expect(await failure(copilot, 'pilot', [retries, retries, { text: 'Error: retried, 529' }])).toBe(
    'its agent failed: Error: retried, 529',
  );
  expect(await stage.ask('pilot', [retries, { text: 'All is well.' }])).toBe('All is well.');
});

test('A session is resumed or loaded, without what the agent repeats then; one that is gone is replaced, and one that can not be read fails the turn.', async () => {
  const replies = async (agent: string, words: string[], args: string[] = []) => {
    await using served = await serveAcp(stage.workspace, agent, { words, args });
    const first = await stage.ask(agent, 'one', { thread: 't' });
    const second = await stage.ask(agent, 'two', { thread: 't' });
    return { first, second, lost: served.warnings('session_lost').length };
  };
  expect(await replies('loader', ['no-resume'])).toMatchObject({
    first: expect.stringMatching(/^session-1, turn 1,/),
    second: expect.stringMatching(/^session-1, turn 2,/),
    lost: 0,
  });
  expect(await replies('loser', ['loses'])).toMatchObject({
    second: expect.stringMatching(/^session-2, turn 1,/),
    lost: 1,
  });
  await using broken = await serveAcp(stage.workspace, 'broken', { words: ['broken-load'] });
  expect(await stage.ask('broken', 'one', { thread: 't' })).toContain('session-1');
  const withdrawing = new AbortController();
  const asked = stage.ask('broken', 'two', { thread: 't', signal: withdrawing.signal });
  await expect
    .poll(() => broken.events('turn_ended')[1]?.reason)
    .toBe('its agent failed: error -32603: the session could not be read');
  withdrawing.abort();
  await asked;
});

test('A session of gemini is never loaded, because that can erase it: each turn begins a new one, and says so.', async () => {
  await using served = await serveAcp(stage.workspace, 'erased', {
    as: 'gemini',
    words: ['--acp', 'no-resume'],
    args: ['--no-inject'],
  });
  expect(await stage.ask('erased', 'one', { thread: 't' })).toContain('session-1, turn 1, mode default');
  expect(await stage.ask('erased', 'two', { thread: 't' })).toContain('session-2, turn 1, mode default');
  expect(served.warnings('session_not_kept')).toHaveLength(1);
});

test('An agent that ignores signals and the end of its input is ended, also under kill -9 of serve, and one that lists our tools late has them.', async () => {
  const args = ['--stop-timeout', '1s'];
  await using served = await serveAcp(stage.workspace, 'deaf', { words: ['deaf', 'late'], args });
  expect(await stage.ask('deaf', 'hello')).toContain('echo Echo: hello');
  await expect.poll(() => served.events('turn_ended')).toMatchObject([{ outcome: 'answered' }]);
  const { pid } = served.events('turn_started')[0] as { pid: number };
  expect(isRunning(pid)).toBe(false);
  expect(served.warnings('no_tools')).toEqual([]);
  const withdrawing = new AbortController();
  const asked = stage.ask('deaf', [{ untilCancelled: true }], { signal: withdrawing.signal });
  await expect.poll(() => served.events('turn_started').length).toBe(2);
  const { pid: second } = served.events('turn_started')[1] as { pid: number };
  served.run.kill('SIGKILL');
  await expect.poll(() => isRunning(second)).toBe(false);
  withdrawing.abort();
  await asked;
});

test('An agent that never lists our tools is waited for, warned of, and answers without them.', async () => {
  await using served = await serveAcp(stage.workspace, 'toolless', { words: ['unlisted'] });
  expect(await stage.ask('toolless', [{ text: 'done' }])).toBe('done');
  expect(served.warnings('no_tools')).toHaveLength(1);
});

test('An agent that nobody is signed in to keeps its mail, and one that speaks another version is not taken.', async () => {
  await using served = await serveAcp(stage.workspace, 'stranger', { words: ['signed-out'] });
  const withdrawing = new AbortController();
  const asked = stage.ask('stranger', 'hello', { signal: withdrawing.signal });
  await expect
    .poll(() => served.events('program_failing'))
    .toMatchObject([{ reason: 'its agent failed: error -32000: Authentication required' }]);
  // More tries than a message has attempts, and none of them counts.
  await expect.poll(() => served.events('turn_ended').length).toBeGreaterThan(6);
  const tries = served.events('turn_started').flatMap(({ messages }) => messages as { attempt: number }[]);
  expect(tries.every(({ attempt }) => attempt === 1)).toBe(true);
  expect((await stage.command('dead', 'list', '--json', '--inbox', 'stranger')).stdout).toContain(
    '"messages":[]',
  );
  // A message with a deadline is given up before it, so that its sender is told why.
  expect(await stage.asker.request('stranger', 'ask', 'soon', { timeoutMs: 5_000 })).toMatchObject({
    status: 'undeliverable',
    // Whether it has had a try of its own by then or not.
    detail: expect.stringContaining('Authentication required'),
  });
  withdrawing.abort();
  await asked;
  await using second = await serveAcp(stage.workspace, 'second', { words: ['version-2'] });
  expect(await failure(second, 'second', 'hello')).toMatch(/it speaks version 2 of ACP/);
});

test('An agent that nobody knows is started once, and what it offers is printed; one of another language is refused.', async () => {
  await using served = await serveAcp(stage.workspace, 'checked');
  const check = (...argv: string[]) =>
    stage.workspace.run(['worker', 'serve', '--acp', '--check', '--', ...argv], { HOME: served.home });
  const { code, stdout } = await check(join(served.home, 'agent'), 'no-resume');
  expect([code, stdout.split('\n')]).toEqual([
    0,
    [
      'agent       acp-agent 1.0.0; speaks ACP 1',
      'a thread    is loaded; sessions are listed',
      'modes       auto (at the start), default, plan',
      'mode set    none: --mode ID sets one in which it asks',
      'MCP server  is started when a session names it',
      '',
    ],
  ]);
  const out = await check(join(served.home, 'agent'), 'signed-out');
  expect([out.code, out.stdout]).toEqual([1, expect.stringContaining('-32000: Authentication required')]);
  expect(await check('/bin/sh', '-c', 'echo no money >&2; exit 3')).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('does not speak ACP: no money'),
  });
});

test('A turn that ends without a word fails if somebody asked, and is done for a note in which a tool was used.', async () => {
  await using served = await serveAcp(stage.workspace, 'silent', { args: ['--note-wait', '1ms'] });
  expect(await failure(served, 'silent', [])).toBe(
    'its agent failed: agent ended the turn without an answer',
  );
  const used = { sessionUpdate: 'tool_call', toolCallId: 't1', title: 'note it', status: 'completed' };
  await stage.asker.deliver({ to: 'silent', kind: 'note', body: JSON.stringify([{ update: used }]) });
  await expect.poll(() => served.events('turn_ended')[1]).toMatchObject({ outcome: 'done' });
});

test('ps and tail show operators the turns that run with their open uses of tools, and nobody else.', async () => {
  await using served = await serveAcp(stage.workspace, 'shown');
  const { url } = stage.workspace.ready.broker;
  const { env } = await stage.workspace.agent('operator.tail', 'operator');
  const token = (await readFile(env.SIGNALBOX_TOKEN_FILE!, 'utf8')).trim();
  await using operator = await connectBroker({ url, token, agent: 'operator.tail#tail' });
  const told: unknown[] = [];
  using _tail = await followTail(operator, {
    agent: 'shown',
    orchestrator: 'orchestrator',
    onEvent: (event) => event.what === 'announced' && told.push(servedParts(event.private)?.running),
  });
  const tool = (toolCallId: string, more: object) => ({
    update: { sessionUpdate: 'tool_call', toolCallId, status: 'pending', ...more },
  });
  const steps = [
    tool('t1', { title: 'read a file' }),
    tool('t2', { title: 'make all' }),
    { update: { sessionUpdate: 'tool_call_update', toolCallId: 't1', status: 'completed' } },
    { update: { sessionUpdate: 'tool_call_update', toolCallId: 't2', status: 'in_progress' } },
    { when: 'go' },
    { text: 'done' },
  ];
  const asked = stage.ask('shown', steps, { thread: 'T' });
  const calls = [{ title: 'make all', status: 'in_progress' }];
  const turn = { from: 'asker', kind: 'ask', thread: 'T', since: expect.any(Number), calls };
  await expect.poll(() => told, { timeout: 10_000 }).toContainEqual([expect.objectContaining(turn)]);
  expect((await stage.command('ps')).stdout).toMatch(
    /^shown works on ask \S+ of asker, thread T, for \d+ s: \[in_progress\] make all$/m,
  );
  const statusFor = async (own: Record<string, string>) => {
    const { agents } = JSON.parse((await stage.workspace.run(['ps', '--json'], own)).stdout);
    return agents.find(({ agent }: { agent: string }) => agent === 'shown').status;
  };
  expect(await statusFor(env)).toMatchObject({ turns: 1, private: { running: [turn] } });
  const other = await stage.workspace.agent('other', 'researcher');
  const observer = await stage.workspace.agent('operator.watch', 'observer');
  for (const own of [other.env, observer.env]) {
    const status = await statusFor(own);
    expect(status).toMatchObject({ worker: 'serve', turns: 1 });
    expect(status).not.toHaveProperty('private');
  }
  await served.touch('go');
  expect(await asked).toBe('done');
  await expect.poll(() => told.at(-1), { timeout: 10_000 }).toEqual([]);
});
