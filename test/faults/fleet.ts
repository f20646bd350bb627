import { type BrokerReady, brokerMain, lastingPort, startChild, tempDir } from '@signalbox/testing';
import { type AgentEvents, type AgentOptions, readToken, startAgents } from './agents.ts';
import type { Victim } from './plan.ts';
import { sinkAgent, type ToOrchestrator, type ToWorker } from './process-messages.ts';
import { type RestartingProcess, startRestarting } from './restarting-process.ts';

/** Broker, orchestrator with a counter server, and workers: each a process that is started again when it ends. */
export interface Fleet extends AsyncDisposable {
  readonly workers: readonly string[];
  readonly url: string;
  /** The token of the agent to whom the notes go. */
  readonly sinkToken: string;
  readonly operatorToken: string;
  readonly counterFile: string;
  readonly journalFile: string;
  readonly dataDir: string;
  /** Makes the victim die at the point of this setting; `null` lets all live. Resolves when the setting is in force. */
  arm(victim: Victim, worker: string, setting: string | null): Promise<void>;
  kill(victim: Victim, worker: string): void;
  /** Sends a message to the living worker, or to the next one as soon as it is ready. */
  tell(worker: string, message: ToWorker): Promise<void>;
  /** Resolves when every process is up. */
  up(): Promise<void>;
  /** The ids of the living processes, by name. */
  pids(): Record<string, number>;
  /** Ends every process; the broker comes last and gets SIGTERM. */
  stop(): Promise<void>;
}

export type FleetOptions = Pick<AgentOptions, 'workers' | 'journal' | 'sustainedUptimeMs'>;

export async function startFleet(options: FleetOptions, events: AgentEvents): Promise<Fleet> {
  await using starting = new AsyncDisposableStack();
  const directory = starting.use(await tempDir());
  const dataDir = `${directory.path}/data`;

  const port = await lastingPort();
  const broker = starting.use(
    await startRestarting<BrokerReady>({
      name: 'broker',
      start: () => startChild(brokerMain, { args: [dataDir, String(port)] }),
      onDeath: (end, at, stderr) => events.onDeath({ victim: 'broker', at, end, stderr }),
    }),
  );
  const { url, operatorTokenFile } = (await broker.ready()).ready;
  const operatorToken = await readToken(operatorTokenFile);
  const agents = starting.use(
    await startAgents({ ...options, url, operatorToken, directory: directory.path }, events),
  );
  const { orchestrator, workers: members, tokens, counterFile, journalFile } = agents;

  const started = starting.move();
  const all = [broker, orchestrator, ...members.values()];
  const processOf = (victim: Victim, worker: string): RestartingProcess<unknown> => {
    if (victim === 'broker') return broker;
    return victim === 'worker' ? members.get(worker)! : orchestrator;
  };
  return {
    workers: [...members.keys()],
    url,
    sinkToken: tokens.get(sinkAgent)!,
    operatorToken,
    counterFile,
    journalFile,
    dataDir,
    async arm(victim, worker, setting) {
      if (victim !== 'server') return await processOf(victim, worker).arm(setting);
      const server: ToOrchestrator = { serverFault: setting };
      orchestrator.send(server);
      await orchestrator.arm(null);
    },
    kill(victim, worker) {
      const now: ToOrchestrator = { killServer: true };
      if (victim === 'server') orchestrator.send(now);
      else processOf(victim, worker).signal('SIGKILL');
    },
    async tell(worker, message) {
      (await members.get(worker)!.ready()).send(message);
    },
    async up() {
      await Promise.all(all.map((member) => member.ready()));
    },
    pids() {
      return Object.fromEntries(
        all.flatMap(({ name, pid }) => (pid === undefined ? [] : [[name, pid] as const])),
      );
    },
    async stop() {
      await Promise.all(all.slice(1).map((member) => member.stop('SIGKILL')));
      await broker.stop('SIGTERM');
    },
    [Symbol.asyncDispose]: () => started.disposeAsync(),
  };
}
