/** A tool call that a worker is told to make. `id` is that of its request and the label it leaves in the counter file. */
export interface CallOrder {
  id: string;
  tool: 'count' | 'slow' | 'echo';
  arguments: Record<string, unknown>;
  timeoutMs: number;
}

/** The end of a call for its caller: a result, or a typed failure. */
export type CallEnd = { code?: undefined } | { code: string; mayHaveRun: boolean };

/** The orchestrator's answer about a call; `unanswered` if it could not be asked in time. */
export type CallState = 'queued' | 'awaiting_approval' | 'running' | 'finished' | 'unknown' | 'unanswered';

/** An order to a worker: calls to make now, notes (by id) to send to the sink now, or calls of its predecessor to ask about. */
export interface ToWorker {
  calls?: CallOrder[];
  notes?: string[];
  status?: string[];
}

export type FromWorker =
  | { ended: string; end: CallEnd }
  | { noted: string; receipt: boolean }
  | { asked: string; state: CallState; result: boolean };

/** An order to the orchestrator. `serverFault` makes the hosted server die at a point; `killServer` kills it now. */
export interface ToOrchestrator {
  serverFault?: string | null;
  killServer?: true;
}

export interface FromOrchestrator {
  serverKilled: number;
}

/** A worker or the orchestrator has lost a connection to a broker. */
export interface Lost {
  lost: true;
}

/** The first argument of a worker's process, as JSON. */
export interface WorkerSettings {
  url: string;
  token: string;
  agent: string;
}

/** The first argument of the orchestrator's process, as JSON. */
export interface OrchestratorSettings {
  url: string;
  token: string;
  counterFile: string;
  journalFile: string;
  /** The database of the journal, if it is in PostgreSQL. */
  database?: { url: string; schema: string };
  /** The folder for large results. Without it none are kept. */
  resultsDirectory?: string;
  /** The longest time that a call may wait for a decision, in milliseconds; {@link askDeadlineMs} by default. */
  decisionMs?: number;
  /** Uptime after which the next restart of the server is quick again; the host's own default, unless given. */
  sustainedUptimeMs?: number;
}

/** The agent to whom notes go. Nobody reads its inbox, so that the database still holds every note at the end. */
export const sinkAgent = 'sink';

/** The variable that, set to 1, makes the orchestrator run without a journal, which shows that the campaign notices. */
export const noJournalVariable = 'SIGNALBOX_TEST_NO_JOURNAL';

/** The longest time that a call of the tool `slow` may wait for a decision, in milliseconds. */
export const askDeadlineMs = 5_000;
