import { readFile } from 'node:fs/promises';
import { connectBroker } from '@signalbox/client';
import {
  type BrokerReady,
  brokerMain,
  type ChildEnd,
  lastingPort,
  startChild,
  tempDir,
} from '@signalbox/testing';
import { startApprover } from './approver.ts';
import type { Victim } from './plan.ts';
import {
  type FromOrchestrator,
  type FromWorker,
  noJournalVariable,
  type OrchestratorSettings,
  sinkAgent,
  type ToOrchestrator,
  type ToWorker,
  type WorkerSettings,
} from './process-messages.ts';
import { type RestartingProcess, startRestarting } from './restarting-process.ts';

/** A death: of which process, when (monotonic milliseconds), and how. */
export interface Death {
  victim: Victim;
  /** Agent id, where it was a worker. */
  worker?: string;
  at: number;
  end: ChildEnd;
  stderr: string;
}

export interface FleetEvents {
  onDeath: (death: Death) => void;
  onWorker: (worker: string, message: FromWorker) => void;
}

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
  /** Has the victim die at that setting's point, or nobody for `null`; resolves when that holds. */
  arm(victim: Victim, worker: string, setting: string | null): Promise<void>;
  kill(victim: Victim, worker: string): void;
  /** Sends a message to the living worker, or to the next one as soon as it is ready. */
  tell(worker: string, message: ToWorker): Promise<void>;
  /** Resolves when every process is up. */
  up(): Promise<void>;
  /** Process ids of those that are up, by name. */
  pids(): Record<string, number>;
  /** Ends everything, the broker by SIGTERM and last. */
  stop(): Promise<void>;
}

export interface FleetOptions {
  workers: number;
  /** Without it, the orchestrator repeats what it cannot remember: for showing that the campaign notices. */
  journal?: boolean;
  /** See {@link OrchestratorSettings}. */
  sustainedUptimeMs?: number;
}

export async function startFleet(options: FleetOptions, events: FleetEvents): Promise<Fleet> {
  await using starting = new AsyncDisposableStack();
  const directory = starting.use(await tempDir());
  const dataDir = `${directory.path}/data`;
  const counterFile = `${directory.path}/counter.jsonl`;
  const died = (victim: Victim, worker?: string) => (end: ChildEnd, at: number, stderr: string) =>
    events.onDeath({ victim, ...(worker !== undefined && { worker }), at, end, stderr });

  const port = await lastingPort();
  const broker = starting.use(
    await startRestarting<BrokerReady>({
      name: 'broker',
      start: () => startChild(brokerMain, { args: [dataDir, String(port)] }),
      onDeath: died('broker'),
    }),
  );
  const { ready } = await broker.ready();
  const { url } = ready;
  const workers = Array.from({ length: options.workers }, (_, at) => `worker-${at + 1}`);
  const tokens = await issueTokens(ready, workers);

  const settings: OrchestratorSettings = {
    url,
    token: tokens.get('orchestrator')!,
    counterFile,
    journalFile: `${directory.path}/journal.db`,
    ...(options.sustainedUptimeMs !== undefined && { sustainedUptimeMs: options.sustainedUptimeMs }),
  };
  const orchestrator = starting.use(
    await startRestarting<unknown>({
      name: 'orchestrator',
      start: () =>
        startChild(new URL('./orchestrator-main.ts', import.meta.url), {
          args: [JSON.stringify(settings)],
          env: { [noJournalVariable]: options.journal === false ? '1' : '' },
          onMessage: (message) => {
            if (typeof (message as FromOrchestrator).serverKilled !== 'number') return;
            died('server')({ code: null, signal: 'SIGKILL' }, performance.now(), '');
          },
        }),
      onDeath: died('orchestrator'),
    }),
  );
  const members = new Map<string, RestartingProcess<unknown>>();
  const startWorker = async (agent: string): Promise<void> => {
    const own: WorkerSettings = { url, token: tokens.get(agent)!, agent };
    members.set(
      agent,
      starting.use(
        await startRestarting<unknown>({
          name: agent,
          start: () =>
            startChild(new URL('./worker-main.ts', import.meta.url), {
              args: [JSON.stringify(own)],
              onMessage: (message) => events.onWorker(agent, message as FromWorker),
            }),
          onDeath: died('worker', agent),
        }),
      ),
    );
  };
  await Promise.all(workers.map(startWorker));
  const operatorToken = (await readFile(ready.operatorTokenFile, 'utf8')).trim();
  starting.use(await startApprover(url, operatorToken));

  const started = starting.move();
  const all = [broker, orchestrator, ...members.values()];
  const processOf = (victim: Victim, worker: string): RestartingProcess<unknown> => {
    if (victim === 'broker') return broker;
    return victim === 'worker' ? members.get(worker)! : orchestrator;
  };
  return {
    workers,
    url,
    sinkToken: tokens.get(sinkAgent)!,
    operatorToken,
    counterFile,
    journalFile: settings.journalFile,
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
      else processOf(victim, worker).kill();
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

async function issueTokens(
  { url, operatorTokenFile }: BrokerReady,
  workers: readonly string[],
): Promise<Map<string, string>> {
  const token = (await readFile(operatorTokenFile, 'utf8')).trim();
  await using operator = await connectBroker({ url, token, agent: 'operator#fleet' });
  const agents = [
    { agent: 'orchestrator', role: 'orchestrator' },
    ...[...workers, sinkAgent].map((agent) => ({ agent, role: 'worker' })),
  ];
  const tokens = new Map<string, string>();
  for (const { agent, role } of agents) {
    const issued = await operator.admin('token_issue', { agent, role });
    tokens.set(agent, issued.token);
  }
  return tokens;
}
