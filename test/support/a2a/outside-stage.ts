import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type BrokerClient, connectBroker, type RequestOutcome } from '@signalbox/client';
import { tempDir } from '@signalbox/testing';
import { expect } from 'vitest';
import { signalbox } from '../cli/command-line.ts';
import { type Run, startRun } from '../runner/worker-run.ts';
import { eventsOf } from '../serve/serve-command.ts';
import type { ways } from './a2a-client.ts';
import { type A2aStage, startA2aStage } from './a2a-stage.ts';
import { startPeer } from './peer.ts';

/** A broker, an agent of another system that `worker serve --a2a` serves as `weather`, and clients that ask it. */
export interface OutsideStage extends AsyncDisposable {
  readonly stage: A2aStage;
  readonly folder: string;
  /** Starts `worker serve --a2a`; resolves when it serves. */
  serve(url: string, options?: readonly string[], env?: Record<string, string>): Promise<Run>;
  /** Starts it, and does not wait. */
  start(url: string, options?: readonly string[], env?: Record<string, string>): Run;
  client(name: string): Promise<BrokerClient>;
}

export async function startOutsideStage(): Promise<OutsideStage> {
  await using opened = new AsyncDisposableStack();
  const stage = opened.use(await startA2aStage({ isAlone: true }));
  const folder = join(stage.directory, 'serve');
  const runRoot = join(folder, 'run');
  await mkdir(runRoot, { recursive: true, mode: 0o700 });
  const resources = opened.move();
  const start: OutsideStage['start'] = (url, options = [], env = {}) =>
    resources.use(
      startRun(
        [
          ...['--agent', 'weather', '--role', 'crew', '--json', '--retry-wait', '50ms', '--concurrency', '4'],
          ...['--config', join(stage.directory, 'signalbox.yaml'), '--a2a', url, ...options],
        ],
        {
          cwd: folder,
          env: { HOME: folder, XDG_RUNTIME_DIR: runRoot, XDG_STATE_HOME: join(folder, 'state'), ...env },
          part: 'serve',
        },
      ),
    );
  return {
    stage,
    folder,
    start,
    async serve(url, options, env) {
      const run = start(url, options, env);
      await expect
        .poll(() => eventsOf(run, 'serving').length + (run.stderr().includes('error') ? 1 : 0))
        .toBeGreaterThan(0);
      if (eventsOf(run, 'serving').length === 0) throw new Error(run.stderr());
      return run;
    },
    async client(name) {
      const token = await stage.token(name, 'crew');
      return resources.use(await connectBroker({ url: stage.ready.broker.url, token, agent: name }));
    },
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  };
}

/** Asks `weather`, and waits for the outcome. */
export function ask(
  client: BrokerClient,
  body: unknown,
  options: { id?: string; thread?: string; signal?: AbortSignal; timeoutMs?: number } = {},
): Promise<RequestOutcome> {
  return client.request('weather', 'ask', body, { timeoutMs: 60_000, ...options });
}

/** Writes the token of the agent to a file, and returns its path. */
export async function tokenFile(folder: string, token: string): Promise<string> {
  const file = join(folder, 'peer.token');
  await writeFile(file, `${token}\n`, { mode: 0o600 });
  return file;
}

/** Returns the answer to an ask, or what became of it. */
export const answerIn = (outcome: RequestOutcome): unknown =>
  outcome.status === 'completed' ? outcome.reply.json : outcome;

/** Shows that an agent that is reached in this way is asked once per message, with its token. */
export async function showThatMessagesAreAskedOnce(way: (typeof ways)[number]): Promise<void> {
  await using stage = await startOutsideStage();
  await using peer = await startPeer(stage.folder, { ...way, token: 'open-sesame' });
  const run = await stage.serve(peer.url, ['--a2a-token-file', await tokenFile(stage.folder, 'open-sesame')]);
  const [walt, wim] = [await stage.client('walt'), await stage.client('wim')];
  expect(answerIn(await ask(walt, 'hello', { id: 'same', thread: 'talk' }))).toBe('heard: hello');
  expect(answerIn(await ask(walt, 'more', { thread: 'talk' }))).toBe('heard: more');
  // Two senders may choose the same id.
  expect(answerIn(await ask(wim, 'hello', { id: 'same' }))).toBe('heard: hello');
  const [first, second, third] = await peer.runs();
  expect(await peer.texts()).toEqual(['hello', 'more', 'hello']);
  expect(second!.contextId).toBe(first!.contextId);
  expect(third!.contextId).not.toBe(first!.contextId);
  expect(first!.messageId).toMatch(/^same\./);
  expect(third!.messageId).not.toBe(first!.messageId);
  expect(eventsOf(run, 'turn_started')[1]).toMatchObject({ resumed: true });
}

/** Options that are refused, and what is said. The first row is shown by `npm test`. */
export const refusedOptions: readonly (readonly [args: readonly string[], message: string])[] = [
  [
    ['--a2a', 'http://agents.example/', '--a2a-token-file', 'TOKEN'],
    'the token would go to http://agents.example without encryption',
  ],
  [['--a2a', 'ftp://127.0.0.1/'], '--a2a needs an address with http:// or https://'],
  [['--a2a', 'https://me:secret@example.com/'], '--a2a needs an address'],
  [
    ['--a2a', 'https://agents.example/', '--a2a-allow', 'http://api.example', '--a2a-token-file', 'TOKEN'],
    'the token would go to http://api.example',
  ],
  [
    ['--a2a', 'https://agents.example/', '--a2a-allow', 'https://api.example/x'],
    "--a2a-allow: 'https://api.example/x' is no origin",
  ],
  [['--a2a', 'https://agents.example/', '--a2a-token-file', '/nowhere'], '--a2a-token-file: ENOENT'],
  [
    ['--a2a', 'https://agents.example/', '--permissions', 'ask'],
    '--permissions is for a program on this machine',
  ],
  [['--a2a', 'https://agents.example/', '--', 'claude', '-p'], 'a command is for a program on this machine'],
  [['--a2a-allow', 'https://agents.example', '--', 'cat'], '--a2a-allow is for an agent of another system'],
  [[], 'which program takes the turns?'],
];

/** Shows that `worker serve` refuses these options before anything connects. */
export async function showThatOptionsAreRefused(args: readonly string[], message: string): Promise<void> {
  await using folder = await tempDir();
  const token = await tokenFile(folder.path, 'secret');
  const { code, stderr } = await signalbox(
    ['worker', 'serve', '--agent', 'weather', ...args.map((one) => (one === 'TOKEN' ? token : one))],
    { cwd: folder.path },
  );
  expect(stderr).toContain(message);
  expect(stderr).not.toContain('secret@');
  expect(code).not.toBe(0);
}
