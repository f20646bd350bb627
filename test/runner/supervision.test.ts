import { chmod, mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { connectBroker } from '@signalbox/client';
import { SignalboxError } from '@signalbox/protocol';
import { startTestBroker, type TestBroker, tempDir } from '@signalbox/testing';
import { startCleanupProcess, superviseAgent } from '@signalbox/worker';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { isRunning } from '../support/processes.ts';
import { testAgent } from '../support/runner/supervise-options.ts';

const opened = new AsyncDisposableStack();
let broker: TestBroker;
let cleanup: ReturnType<typeof startCleanupProcess>;
let root: string;

beforeAll(async () => {
  broker = opened.use(await startTestBroker({ durability: 'process' }));
  cleanup = opened.use(startCleanupProcess(5000));
});
beforeEach(async () => {
  root = opened.use(await tempDir()).path;
});
afterAll(() => opened.disposeAsync());

const restart = { firstDelayMs: 2, longestDelayMs: 2, failures: 5, windowMs: 60_000 };
const shell = (script: string) => ({ program: '/bin/sh', argv: ['sh', '-c', script] });

test('An agent that fails five times in a minute is given up with its last exit code, each process having had a new token, and the old one dead.', async () => {
  const run = testAgent(broker, cleanup, { agent: 'loops', root, ...shell('echo "$0 failed" >&2; exit 4') });
  expect(await superviseAgent({ ...run.options, restart }).ended).toEqual({ code: 4, signal: null });
  expect(run.events.map(({ event }) => event)).toEqual([
    ...Array.from({ length: 4 }, () => ['started', 'exited', 'restarting']).flat(),
    ...['started', 'exited', 'gave_up'],
  ]);
  expect(run.events.filter(({ event }) => event === 'exited')[0]).toMatchObject({ output: 'sh failed\n' });
  expect(new Set(run.tokens).size).toBe(5);
  for (const token of run.tokens) {
    await expect(connectBroker({ url: broker.url, token, agent: 'loops' })).rejects.toMatchObject({
      code: 'unauthorized',
    });
  }
  expect(await readdir(root)).toEqual([]);
});

test('An agent that fails now and then is started again as long as it takes, and one that succeeds is not.', async () => {
  const again = 'echo x >> runs; test $(wc -l < runs) -ge 7';
  const run = testAgent(broker, cleanup, { agent: 'recovers', root, ...shell(again) });
  let minutes = 0;
  const now = () => 60_000 * minutes++;
  expect(await superviseAgent({ ...run.options, restart, now }).ended).toEqual({ code: 0, signal: null });
  expect(run.tokens).toHaveLength(7);
});

test('A failed agent is not started again where nobody asked for that.', async () => {
  const run = testAgent(broker, cleanup, { agent: 'once', root, ...shell('kill -9 $$') });
  expect(await superviseAgent(run.options).ended).toEqual({ code: null, signal: 'SIGKILL' });
  expect(run.tokens).toHaveLength(1);
});

test('A restart waits for a broker that is away, without counting that as a failure.', async () => {
  const run = testAgent(broker, cleanup, {
    agent: 'waits',
    root,
    ...shell('test -e ran || { touch ran; exit 1; }'),
  });
  let asked = 0;
  const issueToken: typeof run.options.issueToken = async (agent) => {
    asked++;
    if (asked > 1 && asked < 8) throw new SignalboxError('unreachable', 'gone', { retryable: true });
    return run.options.issueToken(agent);
  };
  const { ended } = superviseAgent({ ...run.options, restart, issueToken, brokerRetryMs: 1 });
  expect(await ended).toEqual({ code: 0, signal: null });
  expect(run.events.filter(({ event }) => event === 'warning')).toHaveLength(6);
});

test('The first process does not wait: what stands in its way is said at once, and nothing is left.', async () => {
  const run = testAgent(broker, cleanup, { agent: 'never', root, ...shell('exit 0') });
  const issueToken = () => Promise.reject(new SignalboxError('unreachable', 'gone', { retryable: true }));
  const { ended } = superviseAgent({ ...run.options, restart, issueToken });
  await expect(ended).rejects.toMatchObject({ code: 'unreachable' });
  expect(await readdir(root)).toEqual([]);
});

test('What an agent leaves behind in its process group is ended with it.', async () => {
  const leaves = 'sleep 60 & echo $! > left';
  const run = testAgent(broker, cleanup, { agent: 'leaver', root, ...shell(leaves) });
  expect(await superviseAgent(run.options).ended).toEqual({ code: 0, signal: null });
  const pid = Number(await readFile(join(root, 'left'), 'utf8'));
  expect(isRunning(pid)).toBe(false);
});

test('Without a private place for the token nothing is started and no token is made.', async () => {
  const run = testAgent(broker, cleanup, { agent: 'nowhere', root, ...shell('exit 0') });
  const open = join(root, 'open');
  await mkdir(open);
  await chmod(open, 0o777);
  const { ended } = superviseAgent({ ...run.options, roots: [{ path: open }] });
  await expect(ended).rejects.toMatchObject({ code: 'usage', message: expect.stringContaining(open) });
  expect(run.tokens).toEqual([]);
  const instead = superviseAgent({ ...run.options, roots: [{ path: open }, { path: root }] });
  expect(await instead.ended).toEqual({ code: 0, signal: null });
});

/** A `cursor-agent` that is a shell script, run in the root. */
async function cursorAgent(agent: string, script: string) {
  const program = join(root, `cursor-${agent}`);
  await writeFile(program, `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  return testAgent(broker, cleanup, {
    agent,
    root,
    program,
    argv: ['cursor-agent'],
    setup: { inject: true },
  });
}

test('Two agents can’t have their entries in one project file, and what is edited meanwhile stays edited.', async () => {
  const file = join(root, '.cursor', 'mcp.json');
  const edit = `cp ${file} seen; sed 's/"mcpServers"/"edited": true, "mcpServers"/' seen > ${file}`;
  const first = await cursorAgent('first', `${edit}; touch done; while test ! -e go; do sleep 0.02; done`);
  const second = await cursorAgent('second', 'exit 0');
  const running = superviseAgent(first.options);
  await expect.poll(() => readdir(root), { timeout: 10_000 }).toContain('done');
  await expect(superviseAgent(second.options).ended).rejects.toMatchObject({
    code: 'usage',
    message: expect.stringContaining(`(process ${process.pid})`),
  });
  expect(second.tokens).toEqual([]);
  await writeFile(join(root, 'go'), '');
  expect(await running.ended).toEqual({ code: 0, signal: null });
  expect(await readFile(join(root, 'seen'), 'utf8')).toContain('"SIGNALBOX_AGENT": "first"');
  expect(JSON.parse(await readFile(file, 'utf8'))).toEqual({ edited: true, mcpServers: {} });
  expect(first.events.at(-1)).toMatchObject({ event: 'warning', code: 'workspace_file_changed' });
  expect(await superviseAgent(second.options).ended).toEqual({ code: 0, signal: null });
});

test('An entry that a run left when it and its cleanup process were killed is taken out by the next run.', async () => {
  const file = join(root, '.cursor', 'mcp.json');
  await mkdir(join(root, '.cursor'));
  const before = '{"mcpServers":{"mine":{"command":"mine"}}}';
  const written = '{"mcpServers":{"mine":{"command":"mine"},"signalbox":{"command":"left"}}}';
  const entry = { path: file, keys: ['mcpServers', 'signalbox'], value: { command: 'left' } };
  const owner = { pid: process.pid, start: 'at another time' };
  await writeFile(file, written);
  await writeFile(
    `${file}.signalbox`,
    JSON.stringify({ owner, entry, before, written, madeDirectory: false }),
  );
  const run = await cursorAgent('after', `cp ${file} seen`);
  expect(await superviseAgent(run.options).ended).toEqual({ code: 0, signal: null });
  expect(await readFile(join(root, 'seen'), 'utf8')).not.toContain('"left"');
  expect(await readFile(file, 'utf8')).toBe(before);
  expect(await readdir(join(root, '.cursor'))).toEqual(['mcp.json']);
});

test('A project without such a file has none afterwards; a file that is no JSON is refused and left as it is.', async () => {
  const file = join(root, '.cursor', 'mcp.json');
  const run = await cursorAgent('empty', `test -s ${file}`);
  expect(await superviseAgent(run.options).ended).toEqual({ code: 0, signal: null });
  expect(await readdir(root)).toEqual(['cursor-empty']);
  await mkdir(join(root, '.cursor'));
  await writeFile(file, 'no JSON');
  await expect(superviseAgent(run.options).ended).rejects.toMatchObject({ code: 'usage' });
  expect(await readFile(file, 'utf8')).toBe('no JSON');
  expect(await readdir(join(root, '.cursor'))).toEqual(['mcp.json']);
});
