import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { connectBroker } from '@signalbox/client';
import { parseTokenFile, toolCallErrorSchema } from '@signalbox/protocol';
import { startTestBroker } from '@signalbox/testing';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { cleanEnv, jsonOf, signalbox, signalboxArgv } from '../support/cli/command-line.ts';
import { everythingText, startWorkspace, type Workspace } from '../support/cli/workspace.ts';

let workspace: Workspace;
let researcher: { id: string; env: Record<string, string> };
let thrifty: { id: string; env: Record<string, string> };
const operator = ['--config', 'signalbox.yaml'];

beforeAll(async () => {
  workspace = await startWorkspace(() => {
    const { roles, ...config } = JSON.parse(everythingText());
    const budget = { calls: 3, perSeconds: 3600 };
    return JSON.stringify({ ...config, roles: { ...roles, thrifty: { ...roles.researcher, budget } } });
  });
  researcher = await workspace.agent('researcher-1', 'researcher');
  thrifty = await workspace.agent('thrifty-1', 'thrifty');
});
afterAll(() => workspace?.[Symbol.asyncDispose]());

async function call(...args: string[]) {
  return await workspace.run(['tools', 'call', 'mcp_everything__echo', ...args], researcher.env);
}

test('The calls of all agents are the operator’s to list, with how they ended; an agent lists its own.', async () => {
  expect((await call('{"message":"listed"}')).code).toBe(0);
  const listed = jsonOf(await workspace.run(['tools', 'calls', '--since', '1h', '--json', ...operator]));
  expect(listed).toMatchObject({
    calls: expect.arrayContaining([
      expect.objectContaining({
        agent: 'researcher-1',
        tool: 'mcp_everything__echo',
        state: 'finished',
        outcome: 'ok',
      }),
    ]),
  });
  const table = await workspace.run(['tools', 'calls', ...operator]);
  expect(table.stdout).toMatch(/^STARTED +AGENT +TOOL +OUTCOME +ID +TOOK$/m);
  expect(jsonOf(await workspace.run(['tools', 'calls', '--running', '--json', ...operator]))).toEqual({
    calls: [],
    budgets: [],
    known_since: expect.any(Number),
  });
  await workspace.run([
    'tools',
    'call',
    'mcp_everything__echo',
    '{"message":"by the operator"}',
    ...operator,
  ]);
  const own = jsonOf(await workspace.run(['tools', 'calls', '--json'], researcher.env));
  const { calls } = own as { calls: { agent: string; outcome: string; reply_kept: boolean }[] };
  expect(new Set(calls.map(({ agent }) => agent))).toEqual(new Set(['researcher-1']));
  expect(calls.at(-1)).toMatchObject({ outcome: 'ok', reply_kept: true });
});

test('A failed call is the whole error with its request id, and what became of it can be asked by its own agent only.', async () => {
  const failed = await call('{"message":"late"}', '--timeout', '1ms', '--json');
  const { error } = jsonOf(failed) as { error: { request_id: string; ask_again: string } };
  expect(toolCallErrorSchema.parse(error)).toMatchObject({
    code: expect.stringMatching(/^(outcome_unknown|tool_timeout)$/),
    category: expect.any(String),
    may_have_run: expect.any(Boolean),
  });
  expect(error.ask_again).toBe(`signalbox tools result ${error.request_id}`);
  const refused = jsonOf(
    await workspace.run(['tools', 'call', 'mcp_everything__get-sum', '{}', '--json'], researcher.env),
  );
  expect(refused).toEqual({
    error: {
      code: 'permission_denied',
      message: expect.any(String),
      category: 'auth',
      retryable: false,
      may_have_run: false,
      hint: expect.any(String),
      request_id: expect.any(String),
    },
  });

  expect((await call('{"message":"kept"}')).code).toBe(0);
  const { calls } = jsonOf(await workspace.run(['tools', 'calls', '--json', ...operator])) as {
    calls: { request_id: string; outcome?: string }[];
  };
  const { request_id: id } = calls.findLast(({ outcome }) => outcome === 'ok')!;
  const own = await workspace.run(['tools', 'result', '--json', '--', id], researcher.env);
  expect(own.code).toBe(0);
  expect(jsonOf(own)).toMatchObject({ state: 'finished', outcome: 'ok' });
  expect((await workspace.run(['tools', 'result', id], researcher.env)).stdout).toMatch(/^finished/);
  const other = await workspace.agent('researcher-2', 'researcher');
  const foreign = await workspace.run(['tools', 'result', id, '--json'], other.env);
  expect({ code: foreign.code, answer: jsonOf(foreign) }).toEqual({ code: 1, answer: { state: 'unknown' } });
  for (const named of [[], ['--of', 'researcher-1']]) {
    const ofHers = await workspace.run(['tools', 'result', id, ...named, ...operator]);
    expect(ofHers).toMatchObject({ code: 0, stdout: expect.stringMatching(/^finished/) });
  }
  const late = await workspace.run(['tools', 'cancel', id, ...operator]);
  expect(late).toMatchObject({
    code: 1,
    stdout: 'nothing was cancelled: the call of researcher-1 had ended (ok)\n',
  });
});

test('A call that runs is shown as running; at SIGINT it is withdrawn, and its result says so.', async () => {
  const long = 'mcp_everything__trigger-long-running-operation';
  const args = ['tools', 'call', long, JSON.stringify({ duration: 60, steps: 1 }), '--json', ...operator];
  const caller = spawn(process.execPath, signalboxArgv(args), { cwd: workspace.directory, env: cleanEnv() });
  const ended = once(caller, 'exit');
  const calls = await vi.waitFor(async () => {
    const run = await workspace.run(['tools', 'calls', '--running', '--json', ...operator]);
    const found = (jsonOf(run) as { calls: { request_id: string; tool: string }[] }).calls;
    expect(found).toMatchObject([{ tool: long, state: 'running' }]);
    return found;
  });
  const ps = await workspace.run(['ps', ...operator]);
  expect(ps.stdout).toMatch(/^operator: everything:trigger-long-running-operation runs, for \d+ s$/m);
  const ask = async () => {
    const run = await workspace.run(['tools', 'result', '--json', ...operator, '--', calls[0]!.request_id]);
    return { code: run.code, answer: jsonOf(run) };
  };
  expect(await ask()).toEqual({ code: 75, answer: { state: 'running' } });
  caller.kill('SIGINT');
  expect(await ended).toEqual([130, null]);
  await vi.waitFor(async () =>
    expect(await ask()).toMatchObject({ code: 1, answer: { state: 'finished', outcome: 'cancelled' } }),
  );
});

test('The audit says what was refused, and belongs to no agent’s timeline.', async () => {
  expect((await call('{"message":"for the audit"}')).code).toBe(0);
  expect((await workspace.run(['history', ...operator])).code).toBe(0);
  const token = parseTokenFile(
    await readFile(join(workspace.directory, 'researcher-1.token'), 'utf8'),
  )!.token;
  const { url } = workspace.ready.broker;
  await using client = await connectBroker({ url, token, agent: 'researcher-1' });
  await expect(client.admin('token_list', {})).rejects.toMatchObject({ code: 'forbidden' });
  await vi.waitFor(async () => {
    const run = await workspace.run(['audit', 'all', '--since', '1d', '--json', ...operator]);
    const { entries } = jsonOf(run) as { entries: Record<string, unknown>[] };
    expect(entries).toEqual(
      expect.arrayContaining([
        expect.objectContaining({
          agent: 'researcher-1',
          code: 'forbidden',
          name: 'op',
          role: 'researcher',
        }),
        expect.objectContaining({
          ...{ kind: 'refusal', code: 'call_refused', agent: 'researcher-1', role: 'researcher' },
          ...{ name: 'mcp_everything__get-sum', outcome: 'permission_denied' },
          rule: 'roles.researcher.tools: no pattern matches',
        }),
        expect.objectContaining({
          ...{ kind: 'call', code: 'call_ended', agent: 'researcher-1', name: 'mcp_everything__echo' },
          ...{ server: 'everything', outcome: 'ok', request_bytes: expect.any(Number) },
        }),
        expect.objectContaining({ kind: 'change', code: 'token_issued', name: 'researcher-1' }),
        expect.objectContaining({ kind: 'change', code: 'config_applied', agent: 'orchestrator' }),
        expect.objectContaining({ kind: 'connect', agent: 'orchestrator' }),
        expect.objectContaining({ kind: 'read', code: 'history_read', agent: 'operator' }),
        expect.objectContaining({ kind: 'read', code: 'calls_read', agent: 'operator', name: 'calls' }),
      ]),
    );
    expect(JSON.stringify(entries)).not.toContain('for the record');
  });
  const table = await workspace.run(['audit', ...operator]);
  expect(table.stdout).toMatch(/^LAST +AGENT +CODE +ABOUT +DETAIL +TIMES +ROLE$/m);
  expect(table.stdout).toMatch(
    / researcher-1 +call_refused +everything:get-sum +permission_denied: roles\.researcher\.tools: no pattern matches +1 +researcher$/m,
  );
  const exported = await workspace.run(['audit', '--export', ...operator]);
  const lines = exported.stdout.trimEnd().split('\n');
  expect(lines.length).toBeGreaterThan(10);
  for (const line of lines) {
    const [, hash, entry] = /^\{"hash":"([0-9a-f]{64})","entry":(.*)\}$/.exec(line) ?? [];
    expect(createHash('sha256').update(entry!).digest('hex')).toBe(hash);
  }
  const verified = jsonOf(await workspace.run(['audit', '--verify', '--json', ...operator]));
  expect(verified).toMatchObject({ ok: true, chains: expect.arrayContaining([]) });
  const wrong = await Promise.all([
    workspace.run(['audit', 'all', '--verify', ...operator]),
    workspace.run(['audit', 'changes', ...operator]),
  ]);
  expect(wrong.map(({ code }) => code)).toEqual([2, 2]);
  expect(wrong[1].stderr).toContain("'changes' is not a kind of entries");
});

test('Calls that only read are shown after a kill -9 of the orchestrator, with their times, and so are refused ones; what was used of budgets is not forgotten.', async () => {
  expect((await call('{"message":"before"}')).code).toBe(0);
  const saving = (...args: string[]) =>
    workspace.run(['tools', 'call', 'mcp_everything__echo', ...args], thrifty.env);
  expect((await saving('{"message":"one"}')).code).toBe(0);
  expect((await saving('{}')).code).not.toBe(0);
  const calls = async (...args: string[]) => {
    const run = await workspace.run(['tools', 'calls', '--json', ...args, ...operator]);
    return (
      jsonOf(run) as {
        calls: { request_id: string; outcome: string; received_at: number; finished_at: number }[];
      }
    ).calls;
  };
  const filter = ['--agent', 'researcher-1', '--tool', 'everything:echo', '--outcome', 'ok'];
  const of = ['--agent', 'thrifty-1', '--outcome', 'invalid_arguments'];
  const lost = (await calls(...of))[0]!;
  const { request_id: id, received_at, finished_at } = (await calls(...filter)).at(-1)!;
  await vi.waitFor(async () => {
    const audit = await workspace.run(['audit', 'call,refusal', ...operator, '--json']);
    expect(audit.stdout).toContain(id);
    expect(audit.stdout.match(/"agent":"thrifty-1"/g)).toHaveLength(2);
  });
  process.kill(workspace.ready.orchestrator.pid, 'SIGKILL');
  await vi.waitFor(() => expect(workspace.up.stderr()).toContain('the orchestrator is back'), 20_000);
  // The first one that asks for the budgets is a call: 'ps' would look at what was counted before.
  expect((await saving('{"message":"three"}')).code).toBe(0);
  expect((await saving('{"message":"four"}')).stderr).toContain('the budget of 3 calls in 3600 s');
  expect((await workspace.run(['ps', '--role', 'thrifty', ...operator])).stdout).toMatch(
    /^no agents are connected\n\nthrifty-1: 3 of 3 calls in 60 min used, the next in \d+ min\n$/,
  );
  // On a slow machine the journal may have the one or the other, with its reply.
  const same = { request_id: id, outcome: 'ok', received_at, finished_at };
  expect((await calls(...filter)).at(-1)).toMatchObject(same);
  const refused = { request_id: lost.request_id, outcome: lost.outcome, received_at: lost.received_at };
  expect(await calls(...of)).toMatchObject([refused]);
  const timeline = await workspace.run(['history', '--agent', 'thrifty-1', ...operator]);
  expect(timeline.stdout.split('\n').filter((line) => line.includes(lost.request_id))).toEqual([
    expect.stringMatching(/ thrifty-1 +- +call everything:echo +invalid_arguments after /),
  ]);
  const result = await workspace.run(['tools', 'result', ...operator, '--', id]);
  expect(result).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/^finished \(ok\): its reply is no longer kept$|Echo: before/m),
  });
  expect((await workspace.run(['history', ...operator])).stdout).toContain('call everything:echo');
  const own = await workspace.run(['tools', 'calls'], researcher.env);
  expect(own.stdout).toMatch(/^Calls that came before \S+ are missing if they only read or were refused\.$/m);
  const misspelt = await workspace.run(['tools', 'calls', '--agent', 'researcher-l', ...operator]);
  expect(misspelt).toMatchObject({ code: 2, stderr: expect.stringContaining("did you mean 'researcher-1'") });
  const others = await workspace.run(['tools', 'calls', '--agent', 'walt'], researcher.env);
  expect(others).toMatchObject({ code: 2, stderr: expect.stringContaining('leave out --agent') });
});

test('Without an orchestrator history still shows the messages, and says on standard error what is missing.', async () => {
  await using broker = await startTestBroker();
  const env = { SIGNALBOX_TOKEN: await broker.token('rosa'), SIGNALBOX_URL: broker.url };
  expect((await signalbox(['send', 'operator', 'hello', '--id', 'm1'], { env })).code).toBe(0);
  const run = await signalbox(['history', '--data', broker.dataDir, '--json']);
  expect(run.code).toBe(0);
  expect(run.stderr).toContain("tool calls are not shown: no orchestrator named 'orchestrator' is connected");
  expect(jsonOf(run)).toMatchObject({
    groups: [{ correlation_id: 'm1', entries: [{ what: 'message', id: 'm1', from_agent: 'rosa' }] }],
    calls_missing: { code: 'no_consumer' },
  });
});
