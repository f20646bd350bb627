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

test('What can’t be run is told from what can’t be reached, and from no command at all.', async () => {
  const nobody = { SIGNALBOX_URL: 'ws://127.0.0.1:9' };
  const runs = [
    run.start([...operator, '--agent', 'a', '--', 'no-such-agent']),
    run.start([...operator, '--agent', 'a', '--', 'true'], { env: nobody }),
    run.start([...operator, '--agent', 'a']),
  ];
  const codes = await Promise.all(runs.map(async ({ ended }) => (await ended).code));
  expect(codes).toEqual([127, 69, 2]);
  expect(runs[0]!.stderr()).toContain("'no-such-agent' was not found");
  expect(runs[2]!.stderr()).toContain('worker run --help');
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

test('An agent works where the command was started, or in the folder that --cwd names.', async () => {
  const [here, named] = [await run.workDirectory('here'), await run.workDirectory('named')];
  const outputOf = async (agent: string, flags: readonly string[]) => {
    const command = ['sh', '-c', 'pwd -P; printenv PWD'];
    const env = { PWD: here, INIT_CWD: run.home };
    const started = run.start([...operator, '--agent', agent, ...flags, '--', ...command], {
      cwd: here,
      env,
    });
    await using _started = started;
    return {
      ...(await started.ended),
      lines: started.stdout().trimEnd().split('\n'),
      stderr: started.stderr(),
    };
  };
  const [asStarted, asNamed, nowhere] = await Promise.all([
    outputOf('here-1', []),
    outputOf('named-1', ['--cwd', '../named']),
    outputOf('nowhere-1', ['--cwd', 'none']),
  ]);
  expect(asStarted).toMatchObject({ code: 0, lines: [here, here] });
  expect(asNamed).toMatchObject({ code: 0, lines: [named, named] });
  expect(nowhere).toMatchObject({
    code: 2,
    lines: [''],
    stderr: expect.stringContaining(join(here, 'none')),
  });
});
