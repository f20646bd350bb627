import type { BrokerClient, RequestOutcome } from '@signalbox/client';
import { agentOf, isGroup, type RecipientState, SignalboxError } from '@signalbox/protocol';
import { relayProgress, type ToolProgress } from '../../executor/tool-call.ts';
import type { CallKey } from '../../tools/face-tools.ts';

/** A question to another agent. It continues even if no call waits for its answer. */
export interface Ask {
  readonly id: string;
  readonly to: string;
  readonly outcome: Promise<RequestOutcome>;
  readonly isOver: boolean;
  /** Withdraws the question. */
  withdraw(): void;
  /** Records that a call returns the end of the question. The broker gets the ack of the answer when that result has left. */
  endedBy(key: CallKey | undefined): void;
  /** Records that the call that asked ends before the question: another process must pick the question up if this one dies. */
  outlivesCall(): void;
  /** Called with the recipient's progress while a call waits for the answer. */
  onProgress: ((progress: ToolProgress) => void) | undefined;
}

export interface AskTableOptions {
  newId: () => string;
  /** Monotonic milliseconds. */
  now: () => number;
}

const maxPending = 100;
const maxFinished = 100;
const maxFinishedBytes = 4 * 1024 * 1024;
const keptMs = 10 * 60_000;

/** The time that a question waits for its answer, and facts about the call that asks it. */
interface AskOptions {
  timeoutMs: number;
  key?: CallKey | undefined;
  thread?: string | undefined;
  /** The `traceparent` of the work that causes the question. */
  traceparent: string | undefined;
}

interface Entry {
  ask: Ask;
  finishedAt?: number;
  bytes: number;
  /** Resolved when the agent has the answer, or it is forgotten. */
  taken: PromiseWithResolvers<void>;
}

/** The questions of one agent: the pending ones, and the last answers. */
export class AskTable {
  readonly #client: BrokerClient;
  readonly #options: AskTableOptions;
  /** Questions by id, oldest first; a question moves to the end when it ends. */
  readonly #entries = new Map<string, Entry>();

  constructor(client: BrokerClient, options: AskTableOptions) {
    this.#client = client;
    this.#options = options;
  }

  /** Asks a question. Throws `quota_exceeded` when too many are pending. */
  start(to: string, body: unknown, { timeoutMs, key, thread, traceparent }: AskOptions): Ask {
    if (this.pending().length >= maxPending) {
      const message = `${maxPending} of your questions are pending; wait for some with signalbox_ask_result`;
      throw new SignalboxError('quota_exceeded', message, { retryable: true });
    }
    const id = key?.id ?? this.#options.newId();
    const withdrawal = new AbortController();
    const taken = Promise.withResolvers<void>();
    let outlives = false;
    const outcome = this.#client.request(to, 'ask', body, {
      id,
      timeoutMs,
      signal: withdrawal.signal,
      traceparent,
      ...(thread !== undefined && { thread }),
      ...(key && { ackAfter: taken.promise }),
      onProgress: (body) => relayProgress(body, (progress) => entry.ask.onProgress?.(progress)),
    });
    const entry: Entry = {
      bytes: 0,
      taken,
      ask: {
        id,
        to,
        outcome,
        get isOver() {
          return entry.finishedAt !== undefined;
        },
        withdraw: () => withdrawal.abort(),
        endedBy: (by) => void (by ? by.over.then(taken.resolve) : taken.resolve()),
        outlivesCall() {
          if (!outlives) key?.outlive(taken.promise);
          outlives = true;
        },
        onProgress: undefined,
      },
    };
    this.#entries.set(id, entry);
    void outcome.then((ended) => this.#finished(entry, ended));
    return entry.ask;
  }

  /** Returns a question that is pending or whose answer is still kept. */
  find(id: string): Ask | undefined {
    this.#forgetOld();
    return this.#entries.get(id)?.ask;
  }

  /** Asks the broker about the recipient of a question; `undefined` if it can't be told, as of a group. */
  async recipientOf({
    to,
  }: Ask): Promise<{ connected: boolean; state: RecipientState | undefined } | undefined> {
    if (isGroup(to)) return undefined;
    try {
      const { connections, state } = await this.#client.findRecipient(agentOf(to));
      return { connected: connections.length > 0, state };
    } catch {
      // The result itself matters, and comes without the reason.
      return undefined;
    }
  }

  /** Returns the questions that wait for their answers. */
  pending(): Ask[] {
    return [...this.#entries.values()].map(({ ask }) => ask).filter(({ isOver }) => !isOver);
  }

  /** Withdraws all pending questions, because nothing is left that could take the answers. */
  withdrawAll(): void {
    for (const ask of this.pending()) ask.withdraw();
  }

  #finished(entry: Entry, outcome: RequestOutcome): void {
    entry.finishedAt = this.#options.now();
    entry.bytes = outcome.status === 'completed' ? (outcome.reply.body?.length ?? 0) : 0;
    entry.ask.onProgress = undefined;
    this.#entries.delete(entry.ask.id);
    this.#entries.set(entry.ask.id, entry);
    this.#forgetOld();
  }

  /** Forgets answers after 10 minutes, or earlier if there are too many. The newest is always kept. */
  #forgetOld(): void {
    const finished = [...this.#entries.values()].filter(({ finishedAt }) => finishedAt !== undefined);
    let bytes = finished.reduce((sum, entry) => sum + entry.bytes, 0);
    let left = finished.length;
    const oldest = this.#options.now() - keptMs;
    for (const { ask, finishedAt, bytes: own, taken } of finished.slice(0, -1)) {
      if (finishedAt! >= oldest && left <= maxFinished && bytes <= maxFinishedBytes) break;
      this.#entries.delete(ask.id);
      taken.resolve();
      bytes -= own;
      left--;
    }
  }
}
