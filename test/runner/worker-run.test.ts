import { existsSync } from 'node:fs';
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { connectBroker } from '@signalbox/client';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { everyProcess, isRunning } from '../support/processes.ts';
import { startWorkerRunStack, type WorkerRunStack } from '../support/runner/worker-run.ts';

let run: WorkerRunStack;
let operator: string[];
const patient = { interval: 25 };

beforeAll(async () => {
  run = await startWorkerRunStack();
  operator = ['--data', run.stack.broker.dataDir, '--role', 'worker', '--json'];
});
afterAll(() => run?.[Symbol.asyncDispose]());

async function codeOfHello(token: string, agent: string): Promise<unknown> {
  const opening = connectBroker({ url: run.stack.broker.url, token, agent });
  return opening.then(
    (client) => client.close(),
    (error) => error.code,
  );
}

test('A run under kill -9 leaves no process, no file and no entry; until then its token stood in its file alone.', async () => {
  const cwd = await run.workDirectory('crash');
  const file = join(cwd, '.cursor', 'mcp.json');
  await mkdir(dirname(file));
  await writeFile(file, '{"mcpServers":{}}');
  const flags = ['--agent', 'crashes', '--approve-workspace-servers'];
  const started = run.start([...operator, ...flags, '--', 'cursor-agent', 'stay'], { cwd });
  await using _started = started;
  const { pid, tokenFile, server } = await started.report();
  await vi.waitFor(
    () => expect(started.events()).toContainEqual(expect.objectContaining({ event: 'ready' })),
    patient,
  );

  const token = (await readFile(tokenFile, 'utf8')).trim();
  const processes = everyProcess();
  expect(processes.filter(({ text }) => text.includes(token))).toEqual([]);
  const holds = (text: string): boolean => text.includes(dirname(tokenFile));
  const ours = processes.filter(({ parent, text }) => parent === started.pid || holds(text));
  expect(ours.some(({ text }) => text.includes('cleanup-main'))).toBe(true);
  expect(ours.map((one) => one.pid)).toContain(pid);
  expect(started.stdout() + started.stderr()).not.toContain(token);
  expect(server.env.SIGNALBOX_TOKEN_FILE).toBe(tokenFile);

  const other = await connectBroker({ url: run.stack.broker.url, token, agent: 'crashes#test' });
  await using _other = other;
  await vi.waitFor(async () => {
    const connected = await other.listConnected({ withStatus: true });
    expect(connected.map(({ status }) => status)).toContainEqual(
      expect.objectContaining({ worker: 'run', command: 'cursor-agent', pid, restarts: 0 }),
    );
  }, patient);

  started.kill('SIGKILL');
  await vi.waitFor(() => {
    const left = ours.filter((one) => isRunning(one.pid));
    expect(left).toEqual([]);
    expect(existsSync(dirname(tokenFile))).toBe(false);
  }, patient);
  expect(await readFile(file, 'utf8')).toBe('{"mcpServers":{}}');
  expect(await readdir(dirname(file))).toEqual(['mcp.json']);
});

test('A plain token is used as it is, by its own agent only, and lives on.', async () => {
  const { broker } = run.stack;
  const token = await broker.token('rosa');
  const env = { SIGNALBOX_TOKEN: token };
  const [own, other] = [
    run.start(['--', 'sh', '-c', 'test -r "$SIGNALBOX_TOKEN_FILE" -a -z "$SIGNALBOX_TOKEN"'], { env }),
    run.start(['--agent', 'walt', '--', 'sh', '-c', 'true'], { env }),
  ];
  await using _own = own;
  await using _other = other;
  expect(await own.ended).toMatchObject({ code: 0 });
  expect(await codeOfHello(token, 'rosa')).toBeUndefined();
  expect(await other.ended).toMatchObject({ code: 2 });
  expect(other.stderr()).toContain("the token is for 'rosa', not for 'walt'");
});

test('A dry run shows command line, variables and files, and makes no token.', async () => {
  const started = run.start([...operator, '--agent', 'dry', '--dry-run', '--', 'claude', 'hi']);
  await using _started = started;
  expect(await started.ended).toMatchObject({ code: 0 });
  expect(JSON.parse(started.stdout())).toMatchObject({
    agents: [
      {
        client: 'claude',
        argv: [
          'claude',
          expect.stringMatching(/^--mcp-config=\//),
          expect.anything(),
          expect.anything(),
          expect.stringMatching(/^--settings=\//),
          'hi',
        ],
        env: { SIGNALBOX_AGENT: 'dry' },
        files: [
          { path: expect.stringMatching(/mcp\.json$/), text: expect.stringContaining('worker') },
          { path: expect.stringMatching(/settings\.json$/), text: expect.stringContaining('mail-hook') },
        ],
      },
    ],
  });
  expect(started.stdout() + started.stderr()).not.toContain('sbx_');
  // The folders of earlier runs are removed by processes of their own.
  await expect.poll(() => readdir(run.runRoot)).toEqual([]);
});
