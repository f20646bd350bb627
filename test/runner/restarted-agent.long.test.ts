import { chmod, mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { connectBroker } from '@signalbox/client';
import { expect, test, vi } from 'vitest';
import { jsonOf } from '../support/cli/command-line.ts';
import { startWorkspace } from '../support/cli/workspace.ts';
import { isRunning } from '../support/processes.ts';
import type { ReadReport } from '../support/runner/fake-agents/mailbox-reader.ts';
import { type Run, startRun } from '../support/runner/worker-run.ts';

const patient = { interval: 25 };
const reader = fileURLToPath(new URL('../support/runner/fake-agents/mailbox-reader.ts', import.meta.url));

/** A reader under `worker run` on a real broker and orchestrator, which `up` starts again when they are killed. */
async function stage() {
  await using opened = new AsyncDisposableStack();
  const workspace = opened.use(
    await startWorkspace(() => '{broker: {listen: "127.0.0.1:0", data: ./state}}'),
  );
  const [bin, home, runRoot] = ['bin', 'home', 'run'].map((name) => join(workspace.directory, name)) as [
    string,
    string,
    string,
  ];
  for (const directory of [bin, home, runRoot]) await mkdir(directory, { mode: 0o700 });
  await writeFile(join(bin, 'claude'), `#!/bin/sh\nexec '${process.execPath}' '${reader}' "$@"\n`);
  await chmod(join(bin, 'claude'), 0o755);
  const { url } = workspace.ready.broker;
  const config = ['--config', join(workspace.directory, 'signalbox.yaml')];
  const { env: ofRosa } = await workspace.agent('rosa', 'worker');
  const token = (await readFile(ofRosa.SIGNALBOX_TOKEN_FILE!, 'utf8')).trim();
  const rosa = opened.use(await connectBroker({ url, token, agent: 'rosa' }));
  await workspace.agent('reads', 'worker');
  const flags = [
    '--agent',
    'reads',
    '--role',
    'worker',
    '--restart',
    'on-failure',
    '--restart-delay',
    '10ms',
  ];
  const env = {
    HOME: home,
    XDG_STATE_HOME: join(home, 'state'),
    XDG_RUNTIME_DIR: runRoot,
    PATH: `${bin}:${process.env.PATH}`,
    SIGNALBOX_URL: url,
  };
  const resources = opened.move();
  return {
    workspace,
    start: () => resources.use(startRun([...config, ...flags, '--json', '--', 'claude'], { cwd: home, env })),
    send: (body: string) => rosa.deliver({ to: 'reads', kind: body, body }),
    deadLetters: async () => jsonOf(await workspace.run(['dead', 'list', ...config, '--json'])),
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  };
}

/** Waits until the process of a run that is not among `earlier` has read messages with these texts, and gives what it saw. */
async function read(run: Run, texts: readonly string[], earlier: readonly number[] = []) {
  return await vi.waitFor(() => {
    const reports = run
      .stdout()
      .split('\n')
      .filter((line) => line.startsWith('{'))
      .map((line): ReadReport => JSON.parse(line))
      .filter(({ pid }) => !earlier.includes(pid));
    const messages = reports.flatMap((report) => report.messages);
    expect(messages.map(({ body }) => body)).toEqual(texts);
    return { pid: reports[0]!.pid, messages };
  }, patient);
}

const again = (body: string, attempt: number) => ({
  body,
  attempt,
  shown_before: true,
  shown_seconds_ago: expect.any(Number),
});
const exits = (run: Run) => run.events().filter(({ event }) => event === 'exited');

test('Each process of an agent that was killed had a task once, under kill -9 of itself, of the broker and of worker run, and nobody need be told.', async () => {
  await using s = await stage();
  await s.send('task');
  const run = s.start();
  const first = await read(run, ['task']);
  expect(first.messages).toMatchObject([{ body: 'task', attempt: 1 }]);
  expect(first.messages[0]).not.toHaveProperty('shown_before');

  process.kill(first.pid, 'SIGKILL');
  const second = await read(run, ['task'], [first.pid]);
  expect(second.messages).toMatchObject([again('task', 2)]);
  expect(exits(run)).toMatchObject([{ signal: 'SIGKILL', told: false, held_ids: [expect.any(String)] }]);

  // The broker comes back and knows nothing of the reader, which goes on and reads what comes then.
  process.kill(s.workspace.ready.broker.pid, 'SIGKILL');
  await s.send('note');
  await read(run, ['task', 'note'], [first.pid]);
  process.kill(second.pid, 'SIGKILL');
  const third = await read(run, ['task', 'note'], [first.pid, second.pid]);
  expect(third.messages).toMatchObject([again('task', 3), again('note', 2)]);
  expect(exits(run)[1]).toMatchObject({ held_ids: [expect.any(String), expect.any(String)] });

  run.kill('SIGKILL');
  await vi.waitFor(() => expect(isRunning(third.pid)).toBe(false), patient);
  const next = await read(s.start(), ['task', 'note']);
  expect(next.messages).toMatchObject([again('task', 4), again('note', 3)]);
  expect(await s.deadLetters()).toMatchObject({ messages: [] });
});
