import { readFile } from 'node:fs/promises';
import { connectBroker } from '@signalbox/client';
import { type ChildEnd, startChild } from '@signalbox/testing';
import { startApprover } from './approver.ts';
import type { Victim } from './plan.ts';
import {
  type FromOrchestrator,
  type FromWorker,
  type Lost,
  noJournalVariable,
  type OrchestratorSettings,
  sinkAgent,
  type WorkerSettings,
} from './process-messages.ts';
import { type RestartingProcess, startRestarting } from './restarting-process.ts';

/** A process has died. `at` is in monotonic milliseconds. */
export interface Death {
  victim: Victim;
  /** The agent id of a worker that died. */
  worker?: string;
  at: number;
  end: ChildEnd;
  stderr: string;
}

export interface AgentEvents {
  onDeath: (death: Death) => void;
  onWorker: (worker: string, message: FromWorker) => void;
  /** Called when a worker or the orchestrator has lost a connection to a broker. */
  onLost?: (agent: string) => void;
}

export interface AgentOptions {
  /** The addresses of the brokers. */
  url: string;
  operatorToken: string;
  /** The folder of the orchestrator's files. */
  directory: string;
  workers: number;
  /** Further agents with the role of a worker, which get tokens and no process. */
  others?: readonly string[];
  /** Without a journal, the orchestrator repeats calls that it cannot remember, which shows that the campaign notices. */
  journal?: boolean;
  /** See {@link OrchestratorSettings}. */
  database?: OrchestratorSettings['database'];
  sustainedUptimeMs?: number;
}

/**
 * An orchestrator with a counter server, and workers: each a process that is started again when it ends. An operator approves their calls.
 */
export interface Agents extends AsyncDisposable {
  readonly orchestrator: RestartingProcess<unknown>;
  readonly workers: ReadonlyMap<string, RestartingProcess<unknown>>;
  readonly tokens: ReadonlyMap<string, string>;
  readonly counterFile: string;
  readonly journalFile: string;
}

export async function startAgents(options: AgentOptions, events: AgentEvents): Promise<Agents> {
  const { url, operatorToken, directory, others = [] } = options;
  await using starting = new AsyncDisposableStack();
  const counterFile = `${directory}/counter.jsonl`;
  const journalFile = `${directory}/journal.db`;
  const died = (victim: Victim, worker?: string) => (end: ChildEnd, at: number, stderr: string) =>
    events.onDeath({ victim, ...(worker !== undefined && { worker }), at, end, stderr });
  const names = Array.from({ length: options.workers }, (_, at) => `worker-${at + 1}`);
  const tokens = await issueTokens(url, operatorToken, [...names, ...others, sinkAgent]);

  const settings: OrchestratorSettings = {
    url,
    token: tokens.get('orchestrator')!,
    counterFile,
    journalFile,
    ...(options.database && { database: options.database }),
    ...(options.sustainedUptimeMs !== undefined && { sustainedUptimeMs: options.sustainedUptimeMs }),
  };
  const heard = (agent: string, message: FromOrchestrator | FromWorker | Lost): void => {
    if ('lost' in message) events.onLost?.(agent);
    else if ('serverKilled' in message)
      died('server')({ code: null, signal: 'SIGKILL' }, performance.now(), '');
    else events.onWorker(agent, message);
  };
  const orchestrator = starting.use(
    await startRestarting<unknown>({
      name: 'orchestrator',
      start: () =>
        startChild(new URL('./orchestrator-main.ts', import.meta.url), {
          args: [JSON.stringify(settings)],
          env: { [noJournalVariable]: options.journal === false ? '1' : '' },
          onMessage: (message) => heard('orchestrator', message as FromOrchestrator | Lost),
        }),
      onDeath: died('orchestrator'),
    }),
  );
  const workers = new Map<string, RestartingProcess<unknown>>();
  const startWorker = async (agent: string): Promise<void> => {
    const own: WorkerSettings = { url, token: tokens.get(agent)!, agent };
    const worker = await startRestarting<unknown>({
      name: agent,
      start: () =>
        startChild(new URL('./worker-main.ts', import.meta.url), {
          args: [JSON.stringify(own)],
          onMessage: (message) => heard(agent, message as FromWorker | Lost),
        }),
      onDeath: died('worker', agent),
    });
    workers.set(agent, starting.use(worker));
  };
  await Promise.all(names.map(startWorker));
  starting.use(await startApprover(url, operatorToken));
  const started = starting.move();
  return {
    orchestrator,
    workers,
    tokens,
    counterFile,
    journalFile,
    [Symbol.asyncDispose]: () => started.disposeAsync(),
  };
}

/** Reads the operator's token that a broker has written. */
export async function readToken(file: string): Promise<string> {
  return (await readFile(file, 'utf8')).trim();
}

async function issueTokens(
  url: string,
  token: string,
  workers: readonly string[],
): Promise<Map<string, string>> {
  await using operator = await connectBroker({ url, token, agent: 'operator#fleet' });
  const agents = [
    { agent: 'orchestrator', role: 'orchestrator' },
    ...workers.map((agent) => ({ agent, role: 'worker' })),
  ];
  const tokens = new Map<string, string>();
  for (const { agent, role } of agents) {
    const issued = await operator.admin('token_issue', { agent, role });
    tokens.set(agent, issued.token);
  }
  return tokens;
}
