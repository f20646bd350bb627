import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type BrokerClient, connectBroker, type RequestOutcome } from '@signalbox/client';
import { expect } from 'vitest';
import { type Run, startRun } from '../runner/worker-run.ts';
import { eventsOf } from '../serve/serve-command.ts';
import { type A2aStage, startA2aStage } from './a2a-stage.ts';

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
