import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { cleanEnv, signalbox, signalboxArgv, startDaemon } from '../support/cli/command-line.ts';
import { recordLoads } from '../support/cli/loaded-modules.ts';
import { workerMcp } from '../support/cli/worker-mcp-bridge.ts';
import { isRunning } from '../support/processes.ts';
import { type SharedFaceStack, startSharedFaceStack } from '../support/worker/shared-face.ts';

let site: SharedFaceStack;

beforeAll(async () => {
  site = await startSharedFaceStack();
});
afterAll(() => site?.[Symbol.asyncDispose]());

/** The environment of an agent that uses the shared face. */
async function agentEnv(agent: string): Promise<Record<string, string>> {
  const tokenFile = join(site.stack.directory, `${agent}.token`);
  await writeFile(tokenFile, `${await site.stack.broker.tokenOf(agent, 'worker')}\n`, { mode: 0o600 });
  return { SIGNALBOX_URL: site.stack.broker.url, SIGNALBOX_TOKEN_FILE: tokenFile, SIGNALBOX_FACE: site.path };
}

test('worker mcp joins its client to the shared face, loads little for it, and ends with its client', async () => {
  const record = await recordLoads(site.stack.directory);
  const sessions = site.face.sessionCount;
  const { client } = await workerMcp({ ...(await agentEnv('rosa')), ...record.env });
  expect(await client.call('mcp_counter__echo', { n: 1 })).toMatchObject({ structuredContent: { n: 1 } });
  expect(site.face.sessionCount).toBe(sessions + 1);
  await client.client.close();
  await expect.poll(() => site.face.sessionCount).toBe(sessions);
  const modules = await record.modules();
  expect(modules).toContainEqual(expect.stringContaining('shim-session'));
  expect(modules.filter((url) => url.includes('/node_modules/'))).toEqual([]);
  expect(modules.filter((url) => url.startsWith('file:')).length).toBeLessThan(60);
});

test.for(['SIGTERM', 'SIGINT', 'SIGHUP'] as const)(
  'a call that runs at %s is answered as cancelled, and cancelled in its server',
  async (signal) => {
    const { client, pid } = await workerMcp(await agentEnv('sara'));
    const ran = (label: string) => site.stack.ran('slow').filter(({ args }) => args.label === label);
    const call = client.call('mcp_counter__slow', { ms: 60_000, label: signal });
    await expect.poll(() => ran(signal).length).toBe(1);
    process.kill(pid, signal);
    expect(await call).toMatchObject({
      isError: true,
      structuredContent: { error: { code: 'cancelled', may_have_run: true } },
    });
    await expect.poll(() => ran(signal).map(({ at }) => at)).toEqual(['start', 'cancelled']);
    await client.client.close();
  },
);

/** Starts the script of its arguments, says which process that is, and waits for nothing. */
const parent = `
const { spawn } = require('node:child_process');
const child = spawn(process.execPath, process.argv.slice(1), { stdio: ['inherit', 'inherit', 'ignore'] });
process.stderr.write(String(child.pid));
setInterval(() => {}, 1000);
`;

test('a shim ends when its parent is killed, although another process keeps its standard input open', async () => {
  const sessions = site.face.sessionCount;
  const argv = ['-e', parent, '--', ...signalboxArgv(['worker', 'mcp'])];
  const started = spawn(process.execPath, argv, { env: cleanEnv(await agentEnv('tina')) });
  const [pid] = (await once(started.stderr, 'data')).map(Number);
  started.stdin.write('{"jsonrpc":"2.0","id":1,"method":"ping"}\n');
  await once(started.stdout, 'data');
  expect(site.face.sessionCount).toBe(sessions + 1);
  started.kill('SIGKILL');
  await expect.poll(() => isRunning(pid!)).toBe(false);
  await expect.poll(() => site.face.sessionCount).toBe(sessions);
  started.stdin.destroy();
});

test('a shim process goes on with the next face when its face is killed, and its call runs once', async () => {
  const path = `${site.path}.own`;
  const env = { ...(await agentEnv('tom')), SIGNALBOX_FACE: path };
  const startFace = () => {
    const argv = ['worker', 'face', '--socket', path, '--url', site.stack.broker.url];
    return startDaemon(argv, { cwd: site.stack.directory });
  };
  const face = await startFace();
  const { client } = await workerMcp(env);
  const opener = join(site.stack.directory, 'open');
  const call = client.call('mcp_counter__gate', { file: opener });
  await expect.poll(() => site.stack.ran('gate').length).toBe(1);
  await face.stop('SIGKILL');
  await using _next = await startFace();
  await writeFile(opener, '');
  expect(await call).toMatchObject({ structuredContent: { highWater: 1 } });
  expect(site.stack.ran('gate').map(({ at }) => at)).toEqual(['start', 'end']);
  await client.client.close();
});

test('what a shim does not know is the whole program’s to answer', async () => {
  const env = await agentEnv('vera');
  const [help, typo] = await Promise.all([
    signalbox(['worker', 'mcp', '--help'], { env }),
    signalbox(['worker', 'mcp', '--toools', 'all'], { env }),
  ]);
  expect(help).toMatchObject({ code: 0, stdout: expect.stringContaining('Usage: signalbox worker mcp') });
  expect(typo).toMatchObject({ code: 2, stdout: '', stderr: expect.stringContaining('--tools') });
});

test('a shim waits for the face beside the broker’s socket if the process that keeps it there lives', async () => {
  const env = await agentEnv('xena');
  const state = join(site.stack.directory, 'beside');
  await mkdir(state, { mode: 0o700 });
  // Nothing listens at the address of the broker, which only the face is asked to know.
  const url = `unix:${join(state, 'broker.sock')}`;
  const place = join(state, 'face.sock');
  await writeFile(`${place}.pid`, `${process.pid}\n`);
  const { SIGNALBOX_FACE: _, ...rest } = env;
  const worker = workerMcp({ ...rest, SIGNALBOX_URL: url });
  const face = await site.serve({ path: place, aliases: [url] });
  const { client } = await worker;
  expect(face.sessionCount).toBe(1);
  await client.client.close();
  await face.close();
});
