import { execFile } from 'node:child_process';
import { chmod, mkdir, readdir, readFile, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { connectBroker } from '@signalbox/client';
import { SignalboxError } from '@signalbox/protocol';
import { startTestBroker, type TestBroker, tempDir } from '@signalbox/testing';
import { startCleanupProcess, superviseAgent } from '@signalbox/worker/internal';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { isRunning } from '../support/processes.ts';
import { testAgent } from '../support/runner/supervise-options.ts';

const opened = new AsyncDisposableStack();
let broker: TestBroker;
let cleanup: ReturnType<typeof startCleanupProcess>;
let root: string;
let records: string;

beforeAll(async () => {
  broker = opened.use(await startTestBroker({ durability: 'process' }));
  cleanup = opened.use(startCleanupProcess(5000));
});
beforeEach(async () => {
  const { path } = opened.use(await tempDir());
  [root, records] = [join(path, 'work'), join(path, 'records')];
  await mkdir(root);
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
  await expect.poll(() => readdir(root)).toContain('done');
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

test('An entry that a run left when it and its cleanup process were killed is taken out by the next run, and by one of two.', async () => {
  const file = join(root, '.cursor', 'mcp.json');
  await mkdir(join(root, '.cursor'));
  const before = '{"mcpServers":{"mine":{"command":"mine"}}}';
  await writeFile(file, before);
  const killed = await cursorAgent('killed', `cp -r ${records} ${root}/kept; cp ${file} ${root}/written`);
  expect(await superviseAgent(killed.options).ended).toEqual({ code: 0, signal: null });
  // A kill -9 leaves the record, the entry, and a draft that did not replace its file.
  const [name] = await readdir(join(root, 'kept'));
  const record = JSON.parse(await readFile(join(root, 'kept', name!), 'utf8'));
  const owner = { pid: process.pid, start: 'at another time' };
  await writeFile(join(records, name!), JSON.stringify({ ...record, owner }));
  await rename(join(root, 'written'), file);
  await writeFile(join(root, '.cursor', `.signalbox-${record.id}`), 'a draft');

  const script = `cp ${file} ${root}/seen; touch done; while test ! -e go; do sleep 0.02; done`;
  const agents = await Promise.all(['one', 'two'].map((agent) => cursorAgent(agent, script)));
  const ended = Promise.allSettled(agents.map(({ options }) => superviseAgent(options).ended));
  await expect.poll(() => readdir(root)).toContain('done');
  await writeFile(join(root, 'go'), '');
  const outcomes = await ended;
  expect(outcomes.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
  const failed = outcomes.find((outcome) => outcome.status === 'rejected');
  expect(failed?.reason).toMatchObject({
    code: 'usage',
    message: expect.stringContaining('another worker run'),
  });
  expect(await readFile(join(root, 'seen'), 'utf8')).not.toContain('"killed"');
  expect(await readFile(file, 'utf8')).toBe(before);
  expect(await readdir(join(root, '.cursor'))).toEqual(['mcp.json']);
  expect(await readdir(records)).toEqual([]);
});

/** A directory outside of the workspace with a file that nobody may touch, as the author of a workspace would name it. */
async function victim() {
  const directory = join(root, '..', 'victim');
  const file = join(directory, 'mcp.json');
  await mkdir(directory);
  await writeFile(file, '{"mcpServers":{}}');
  return { directory, file, text: () => readFile(file, 'utf8') };
}

test('A record that the author of a workspace planted is not read, and the file that it names stays as it is.', async () => {
  const other = await victim();
  await mkdir(join(root, '.cursor'));
  const entry = { path: other.file, keys: ['mcpServers'], value: {} };
  const record = {
    owner: { pid: 1, start: 'long ago' },
    entry,
    before: 'evil',
    written: '{"mcpServers":{}}',
  };
  const planted = JSON.stringify({ ...record, madeDirectory: false });
  await writeFile(join(root, '.cursor', 'mcp.json.signalbox'), planted);
  const run = await cursorAgent('lured', `test -s .cursor/mcp.json`);
  expect(await superviseAgent(run.options).ended).toEqual({ code: 0, signal: null });
  expect(await other.text()).toBe('{"mcpServers":{}}');
  expect(await readFile(join(root, '.cursor', 'mcp.json.signalbox'), 'utf8')).toBe(planted);
  expect(await readdir(join(root, '.cursor'))).toEqual(['mcp.json.signalbox']);
});

test('Links, pipes, folders, and huge files in the place of the project file are refused before a token is made.', async () => {
  const other = await victim();
  const folder = join(root, '.cursor');
  const file = join(folder, 'mcp.json');
  const traps: [string, () => Promise<unknown>][] = [
    ['symbolic link', () => symlink(other.directory, folder)],
    ['no directory', () => writeFile(folder, '')],
    ['symbolic link', () => mkdir(folder).then(() => symlink(other.file, file))],
    ['symbolic link', () => mkdir(folder).then(() => symlink(join(root, 'nowhere'), file))],
    ['no regular file', () => mkdir(file, { recursive: true })],
    ['no regular file', () => mkdir(folder).then(() => promisify(execFile)('mkfifo', [file]))],
    ['larger than', () => mkdir(folder).then(() => writeFile(file, `{}${' '.repeat(1024 * 1024)}`))],
    ['no UTF-8', () => mkdir(folder).then(() => writeFile(file, Buffer.from([0x22, 0xff, 0x22])))],
  ];
  const run = await cursorAgent('trapped', 'exit 0');
  for (const [what, lay] of traps) {
    await lay();
    const { ended } = superviseAgent(run.options);
    await expect(ended).rejects.toMatchObject({ code: 'usage', message: expect.stringContaining(what) });
    expect(await readdir(records)).toEqual([]);
    await rm(folder, { recursive: true });
  }
  expect(await other.text()).toBe('{"mcpServers":{}}');
  expect(await readdir(other.directory)).toEqual(['mcp.json']);
  expect(await readdir(root)).toEqual(['cursor-trapped']);
  expect(run.tokens).toEqual([]);
});

test('A folder that became a link while the agent ran is not followed when the entry is taken out.', async () => {
  const other = await victim();
  const script = `cp .cursor/mcp.json ${other.file}; mv .cursor away; ln -s ${other.directory} .cursor`;
  const run = await cursorAgent('swapper', script);
  expect(await superviseAgent(run.options).ended).toEqual({ code: 0, signal: null });
  expect(await other.text()).toContain('"swapper"');
  expect(run.events.at(-1)).toMatchObject({ event: 'warning', message: expect.stringContaining('by hand') });
});

test('Records that others could write are refused.', async () => {
  await mkdir(records, { mode: 0o755 });
  const run = await cursorAgent('open', 'exit 0');
  const { ended } = superviseAgent(run.options);
  await expect(ended).rejects.toMatchObject({ code: 'usage', message: expect.stringContaining(records) });
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
