import { chmod, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type BrokerClient, connectBroker } from '@signalbox/client';
import { startTestBroker, type TestBroker, tempDir } from '@signalbox/testing';
import {
  openThreadSessions,
  runTurn,
  type ServeAgentOptions,
  type ServedAgent,
  type ServeEvent,
  serveAgent,
  startCleanupProcess,
  type TurnRunOptions,
  turnProgramOf,
} from '@signalbox/worker/internal';
import { testAgent } from '../runner/supervise-options.ts';

/** A broker, an agent `walt` that writes to others, and a folder for programs. */
export interface ServeStage extends AsyncDisposable {
  readonly broker: TestBroker;
  readonly walt: BrokerClient;
  readonly directory: string;
  /** Serves `rosa` with a shell script as her program. */
  serve(script: string, options?: Partial<ServeAgentOptions & TurnRunOptions>): Promise<Served>;
}

/** A served agent, what happened to it, and the tokens that were made for it. */
export interface Served extends AsyncDisposable {
  readonly agent: ServedAgent;
  readonly events: ServeEvent[];
  readonly tokens: string[];
}

export async function startServeStage(broker?: Parameters<typeof startTestBroker>[0]): Promise<ServeStage> {
  await using opened = new AsyncDisposableStack();
  const started = opened.use(await startTestBroker(broker));
  const { path } = opened.use(await tempDir());
  const walt = opened.use(
    await connectBroker({ url: started.url, token: await started.token('walt'), agent: 'walt' }),
  );
  const cleanup = opened.use(startCleanupProcess(1000));
  let programs = 0;
  const resources = opened.move();
  return {
    broker: started,
    walt,
    directory: path,
    async serve(script, changes = {}) {
      const root = join(path, `serve-${++programs}`);
      await mkdir(root, { mode: 0o700 });
      const program = join(root, 'program');
      await writeFile(program, `#!/bin/sh\n${script}\n`);
      await chmod(program, 0o755);
      const { options, tokens } = testAgent(started, cleanup, {
        agent: 'rosa',
        program,
        argv: [program],
        root,
      });
      const events: ServeEvent[] = [];
      const all = {
        ...options,
        turns: turnProgramOf([program]),
        command: 'program',
        turnTimeoutMs: 30_000,
        concurrency: 1,
        retryWaitMs: 50,
        sessions: await openThreadSessions(join(path, 'sessions', 'rosa.json')),
        onEvent: (event: ServeEvent) => events.push(event),
        ...changes,
      };
      const agent = serveAgent({ run: (task, keeping) => runTurn(task, all, keeping), ...all });
      agent.ended.catch(() => {});
      return {
        agent,
        events,
        tokens,
        async [Symbol.asyncDispose]() {
          agent.kill();
          await agent.ended.catch(() => {});
        },
      };
    },
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  };
}
