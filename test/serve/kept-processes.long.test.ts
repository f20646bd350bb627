import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { counterServer, readCounter } from '@signalbox/testing';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { everythingText } from '../support/cli/workspace.ts';
import { everyProcess, isRunning } from '../support/processes.ts';
import { type AcpStage, startAcpStage } from '../support/serve/acp-stage.ts';
import { type ServedAcp, serveAcp } from '../support/serve/served-acp.ts';

const keep = ['--keep', '10m'];
let stage: AcpStage;

/** A configuration with a server whose calls are counted, and must not run twice. */
function countedText(directory: string): string {
  const { mcpServers, roles, ...config } = JSON.parse(everythingText());
  const counter = counterServer(join(directory, 'counted'));
  roles.researcher.tools.push('mcp_counter__*');
  return JSON.stringify({ ...config, mcpServers: { ...mcpServers, counter }, roles });
}

beforeAll(async () => {
  stage = await startAcpStage(countedText);
});
afterAll(() => stage?.[Symbol.asyncDispose]());

const pidOf = (served: ServedAcp, at = -1) => Number(served.events('turn_started').at(at)?.pid);

/** Resolves when the process of the newest turn is gone, with the reason that was told. */
async function goneOf(served: ServedAcp): Promise<unknown> {
  const pid = pidOf(served);
  const ended = () => served.events('kept_ended').find((event) => event.pid === pid);
  await expect.poll(ended).toBeDefined();
  expect(isRunning(pid)).toBe(false);
  return ended()?.reason;
}

test('A kept process ends at once when the rights of its agent or a sender change: by a hold, a revoked token, or other tools of the role.', async () => {
  await using served = await serveAcp(stage.workspace, 'ended', { args: keep });
  const other = await stage.workspace.agent('other', 'researcher');
  const ask = () => stage.workspace.run(['ask', 'ended', 'hi', '--thread', 'T'], other.env);
  const hold = async (name: string) => {
    await ask();
    expect(isRunning(pidOf(served))).toBe(true);
    await stage.command('hold', '--agent', name, '--reason', 'wait');
    expect(await goneOf(served)).toBe(`the rights of ${name} may have changed`);
    await stage.command('release', '--agent', name);
  };
  await hold('ended');
  await hold('other');
  await ask();
  // It concerns neither the agent nor its senders.
  const stranger = await stage.workspace.agent('stranger', 'researcher');
  await stage.command('token', 'revoke', stranger.id);
  await stage.command('token', 'revoke', '--agent', 'other');
  expect(await goneOf(served)).toBe('the rights of other may have changed');
  expect(await stage.ask('ended', 'hi', { thread: 'T' })).toContain('session-1, turn 4');
  const file = join(stage.workspace.directory, 'signalbox.yaml');
  const text = await readFile(file, 'utf8');
  await writeFile(file, text.replace('"mcp_everything__echo",', ''));
  expect(await goneOf(served)).toBe('the rights of agents may have changed');
  await writeFile(file, text);
  await served.stop();
});

test('A process is not kept after a failure, a denial, a stop or the time limit, and not for longer than --keep says.', async () => {
  const args = [...keep, '--turn-timeout', '10s'];
  await using served = await serveAcp(stage.workspace, 'strict', { args });
  const say = (steps: string | object[]) => stage.ask('strict', steps, { thread: 'T' });
  const begin = async (steps: object[]) => {
    await say('hi');
    const withdrawing = new AbortController();
    const count = served.events('turn_started').length;
    const asked = stage.ask('strict', steps, { thread: 'T', signal: withdrawing.signal });
    await expect.poll(() => served.events('turn_started').length).toBeGreaterThan(count);
    expect(served.events('turn_started')[count]).toMatchObject({ kept: true, pid: pidOf(served, count - 1) });
    const ended = async () => {
      // A further try of an earlier message may have ended before it was started.
      const turns = () => served.events('turn_ended').map(({ turn }) => turn);
      await expect.poll(turns).toContain(served.events('turn_started')[count]?.turn);
      expect(isRunning(pidOf(served, count))).toBe(false);
      withdrawing.abort();
      await asked;
    };
    return { asked, ended, withdrawing };
  };
  await (await begin([{ error: { code: -32603, message: 'broken' } }])).ended();
  const denied = await begin([{ ask: { toolCallId: 't', rawInput: { a: 1 } } }, { heard: true }]);
  expect(await denied.asked).toBe('heard id-reject_once');
  await denied.ended();
  const stopped = await begin([{ untilCancelled: true }]);
  await stage.command('worker', 'stop', 'strict', '--thread', 'T');
  expect(await stopped.asked).toMatchObject({ status: 'undeliverable' });
  await stopped.ended();
  const withdrawn = await begin([{ untilCancelled: true }]);
  withdrawn.withdrawing.abort();
  await withdrawn.ended();
  await (await begin([{ when: 'never' }])).ended();
  expect(served.events('turn_ended').map(({ outcome }) => outcome)).toContain('timed_out');
  await served.stop();
  await using brief = await serveAcp(stage.workspace, 'brief', { args: ['--keep', '1s'] });
  await stage.ask('brief', 'hi', { thread: 'T' });
  expect(await goneOf(brief)).toBe('no turn of its thread came in time');
  expect(await readdir(join(brief.home, 'run'))).toHaveLength(1);
});

test.each(['agent', 'serve', 'face', 'broker'] as const)(
  'kill -9 of the %s in the middle of a turn of a kept process: answered once, its call is made once, and nothing is left.',
  async (victim) => {
    const agent = `killed-${victim}`;
    const gate = join(stage.workspace.directory, `${victim}-gate`);
    const starts = () =>
      readCounter(join(stage.workspace.directory, 'counted')).filter(
        ({ at, args }) => at === 'start' && args.file === gate,
      ).length;
    const served = await serveAcp(stage.workspace, agent, { args: keep });
    await using _served = served;
    await stage.ask(agent, 'hi', { thread: 'T' });
    const call = { tool: 'mcp_counter__gate', args: { file: gate }, once: 'called' };
    const asked = stage.ask(agent, [{ call }, { text: ' and done' }], { thread: 'T' });
    await expect.poll(starts).toBe(1);
    const pid = pidOf(served);
    expect(served.events('turn_started').at(-1)).toMatchObject({ kept: true });
    const shim = everyProcess().find(({ parent }) => parent === pid)!.pid;
    if (victim === 'agent') process.kill(pid, 'SIGKILL');
    if (victim === 'face') process.kill(shim, 'SIGKILL');
    if (victim === 'broker') process.kill(stage.workspace.ready.broker.pid, 'SIGKILL');
    if (victim === 'serve') served.run.kill('SIGKILL');
    await using again =
      victim === 'serve' ? await serveAcp(stage.workspace, agent, { args: keep }) : undefined;
    await writeFile(gate, '');
    expect(await asked).toMatch(/and done$/);
    expect(starts()).toBe(1);
    if (victim === 'broker') expect(pidOf(served)).toBe(pid);
    else await expect.poll(() => [isRunning(pid), isRunning(shim)]).toEqual([false, false]);
    // Its thread goes on.
    expect(await stage.ask(agent, 'more', { thread: 'T' })).toMatch(
      /^session-\d+, turn \d+, mode auto, echo/,
    );
    await (again ?? served).stop();
    const left = everyProcess().filter(({ text }) => text.includes(`HOME=${served.home} `));
    expect(left).toEqual([]);
    expect(await readdir(join(served.home, 'run'))).toEqual([]);
  },
);

test('A thread of a group goes on in its process at the member that kept it, and at another one only after that has ended.', async () => {
  const args = [...keep, '--count', '2', '--group', 'role:researcher'];
  await using served = await serveAcp(stage.workspace, 'member', { args });
  await expect.poll(() => served.events('serving')).toHaveLength(2);
  const started = () => served.events('turn_started');
  for (let turn = 1; turn <= 4; turn++) {
    expect(await stage.ask('role:researcher', 'hi', { thread: 'T' })).toContain(`session-1, turn ${turn}`);
    const [last, now] = started().slice(-2);
    if (turn > 1 && last?.agent === now?.agent) expect(now).toMatchObject({ pid: last?.pid, kept: true });
    if (turn > 1 && last?.agent !== now?.agent) expect(isRunning(Number(last?.pid))).toBe(false);
  }
  const busy = stage.ask('role:researcher', [{ when: 'go' }, { text: 'was busy' }], { thread: 'X' });
  await expect.poll(() => started().length).toBe(5);
  for (let turn = 5; turn <= 6; turn++)
    expect(await stage.ask('role:researcher', 'hi', { thread: 'T' })).toContain(`session-1, turn ${turn}`);
  const [fifth, sixth] = started().slice(-2);
  expect(sixth).toMatchObject({ agent: fifth?.agent, pid: fifth?.pid, kept: true });
  await served.touch('go');
  expect(await busy).toBe('was busy');
  // The broker hands messages to free members in turn.
  const reasons = served.events('kept_ended').map(({ reason }) => reason);
  expect(reasons).toContainEqual(expect.stringMatching(/^member-\d goes on with its thread$/));
  await served.stop();
});

test('--keep is refused without ACP, without sessions, and with a token that makes no others.', async () => {
  const { env } = await stage.workspace.agent('plain', 'researcher');
  const refusal = async (args: string[], own: Record<string, string> = {}) => {
    const { code, stderr } = await stage.workspace.run(['worker', 'serve', '--keep', '10m', ...args], own);
    return [code, stderr];
  };
  const acp = ['--acp', '--', '/bin/cat'];
  expect(await refusal(['--', '/bin/cat'], env)).toEqual([
    2,
    expect.stringContaining('--keep is for agents that speak the Agent Client Protocol'),
  ]);
  const data = ['--data', join(stage.workspace.directory, 'state'), '--agent', 'a', '--role', 'researcher'];
  expect(await refusal([...data, '--session', 'none', ...acp])).toEqual([
    2,
    expect.stringContaining('a kept process goes on with its session'),
  ]);
  expect(await refusal(acp, env)).toEqual([2, expect.stringContaining('needs a token of its own')]);
});
