/** A tool call that a worker is told to make. `id` is that of its request and the label it leaves in the counter file. */
export interface CallOrder {
  id: string;
  tool: 'count' | 'slow' | 'echo';
  arguments: Record<string, unknown>;
  timeoutMs: number;
}

/** How a call ended for its caller: a result, or a typed failure. */
export type CallEnd = { code?: undefined } | { code: string; mayHaveRun: boolean };

/** What the orchestrator knows of a call; `unanswered` if it could not be asked in time. */
export type CallState = 'queued' | 'awaiting_approval' | 'running' | 'finished' | 'unknown' | 'unanswered';

/** Calls to make now, notes (by id) to send to the sink now, calls of a predecessor to ask about. */
export interface ToWorker {
  calls?: CallOrder[];
  notes?: string[];
  status?: string[];
}

export type FromWorker =
  | { ended: string; end: CallEnd }
  | { noted: string; receipt: boolean }
  | { asked: string; state: CallState; result: boolean };

/** `serverFault` has the hosted server die, not the orchestrator; `killServer` has it die now. */
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

/** First argument of a worker's process, as JSON. */
export interface WorkerSettings {
  url: string;
  token: string;
  agent: string;
}

/** First argument of the orchestrator's process, as JSON. */
export interface OrchestratorSettings {
  url: string;
  token: string;
  counterFile: string;
  journalFile: string;
  /** The folder for large results. Without it none are kept. */
  resultsDirectory?: string;
  /** Uptime after which the next restart of the server is quick again; the host's own default, unless given. */
  sustainedUptimeMs?: number;
}

/** The agent to whom notes go. Nobody reads its inbox, so that the database still holds every note at the end. */
export const sinkAgent = 'sink';

/** Set to 1, it has the orchestrator run without a journal, to show that the campaign notices. */
export const noJournalVariable = 'SIGNALBOX_TEST_NO_JOURNAL';

/** How long a call of the tool `slow` may wait for a decision, in milliseconds. */
export const askDeadlineMs = 5_000;
