import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { connectBroker } from '@signalbox/client';
import { tempDir } from '@signalbox/testing';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { startWorkerRunStack, type WorkerRunStack } from '../support/runner/worker-run.ts';
import { connectShim } from '../support/worker/shared-face.ts';

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

test('Three agents of a minting token have a token each that ends with them, and their parent hears of each.', async () => {
  const { broker } = run.stack;
  const boss = await connectBroker({ url: broker.url, token: await broker.token('boss'), agent: 'boss' });
  await using _boss = boss;
  await using directory = await tempDir();
  const tokenFile = join(directory.path, 'ci.token');
  await writeFile(tokenFile, await broker.token('ci-*', 'worker'));
  const script =
    'echo "$SIGNALBOX_AGENT"; cat "$SIGNALBOX_TOKEN_FILE" >> "$1"; exit $(echo $SIGNALBOX_AGENT | tr -d ci-)';
  const [seen, all] = [
    join(directory.path, 'seen'),
    ['--agent', 'ci-*', '--count', '3', '--token-file', tokenFile],
  ];
  const started = run.start([...all, '--json', '--', 'sh', '-c', script, 'sh', seen], {
    env: { SIGNALBOX_AGENT: 'boss' },
  });
  await using _started = started;
  expect(await started.ended).toMatchObject({ code: 3 });
  expect(started.stdout().trim().split('\n').sort()).toEqual(['[ci-1] ci-1', '[ci-2] ci-2', '[ci-3] ci-3']);
  const tokens = (await readFile(seen, 'utf8')).trim().split('\n');
  expect(new Set(tokens).size).toBe(3);
  for (const token of tokens) {
    expect(await codeOfHello(token, /^sbx_([^~]+)~/.exec(token)![1]!)).toBe('unauthorized');
  }
  const told = (await boss.peek()).map(({ from, kind, body }) => ({
    from: from.agent,
    kind,
    body: JSON.parse(body!),
  }));
  expect(told.sort((a, b) => a.body.code - b.body.code)).toEqual(
    [1, 2, 3].map((code) => ({
      from: 'broker',
      kind: 'event',
      body: { event: 'worker_exited', agent: `ci-${code}`, role: 'worker', code, signal: null, held_ids: [] },
    })),
  );
});

test('SIGTERM ends a run whose agent does not listen, after its time to stop, with 128 and the signal.', async () => {
  const deaf = "trap '' TERM; echo up; while :; do sleep 0.05; done";
  const args = [...operator, '--agent', 'deaf', '--stop-timeout', '200ms', '--', 'sh', '-c', deaf];
  const cwd = run.stack.broker.dataDir;
  const started = run.start(args, { cwd });
  await using _started = started;
  await vi.waitFor(() => expect(started.stdout()).toBe('up\n'), patient);
  // It works where the operator's token lies, and that is said.
  expect(started.events()[0]).toMatchObject({
    event: 'warning',
    code: 'workspace_exposed',
    message: expect.stringContaining(`the data directory ${cwd}`),
  });
  started.kill('SIGTERM');
  expect(await started.ended).toEqual({ code: 137, signal: null });
  expect(started.events().at(-1)).toMatchObject({ event: 'exited', agent: 'deaf', signal: 'SIGKILL' });
  expect((await readdir(run.runRoot)).length).toBe(0);
});

test('A second run of an agent that another run has is warned about; one of another agent is not.', async () => {
  const first = run.start([...operator, '--agent', 'twice', '--', 'sleep', '60']);
  await using _first = first;
  await expect.poll(() => first.events().map(({ event }) => event)).toContain('started');
  const [second, other] = [
    run.start([...operator, '--agent', 'twice', '--', 'true']),
    run.start([...operator, '--agent', 'once', '--', 'true']),
  ];
  await using _second = second;
  await using _other = other;
  await Promise.all([second.ended, other.ended]);
  const warned = (events: Record<string, unknown>[]) => events.flatMap(({ code }) => code ?? []);
  expect(warned(second.events())).toContain('runs_already');
  expect([first, other].flatMap((one) => warned(one.events()))).not.toContain('runs_already');
});

test('The limits of a run’s face are those of the configuration; one that can’t be read is warned about.', async () => {
  const cwd = await run.workDirectory('limited');
  const config = join(cwd, 'signalbox.yaml');
  const start = () =>
    run.start([...operator, '--config', config, '--agent', 'tight', '--', 'claude', 'stay'], { cwd });
  await writeFile(config, 'worker: { limits: { sessionsPerAgent: 1 } }');
  {
    await using limited = start();
    const { server } = await limited.report();
    const token = (await readFile(server.env.SIGNALBOX_TOKEN_FILE!, 'utf8')).trim();
    const connect = () => connectShim(server.env.SIGNALBOX_FACE!, { token }, { initialize: false });
    await using _first = await connect();
    await using shim = await connect();
    expect((await shim.line('refused')).refused).toMatchObject({
      message: expect.stringContaining(
        'this agent has 1 connections here; end some, or raise worker.limits.',
      ),
    });
    expect(limited.events().some(({ code }) => code === 'config_unread')).toBe(false);
  }
  await writeFile(config, 'worker: { limits: { sessionsPerAgent: none } }');
  await using unread = start();
  await expect
    .poll(() => unread.events())
    .toContainEqual(
      expect.objectContaining({
        code: 'config_unread',
        message: expect.stringContaining('sessionsPerAgent'),
      }),
    );
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
