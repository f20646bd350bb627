import type { CallRecord, CallRecordOutcome, CallStatus, McpReply } from '@signalbox/protocol';
import type { CallKey, JournalEntry } from './journal/journal.ts';

/** What this process remembers of calls that have ended. */
export interface BookLimits {
  calls: number;
  /** Of their replies' texts, together. */
  replyBytes: number;
}

const defaultLimits: BookLimits = { calls: 1_000, replyBytes: 16 * 1024 * 1024 };

/** A call on its way through this process. */
export interface OpenCall {
  /** It was its turn. */
  running(server: string | undefined): void;
  /** It has ended; `text` is the JSON of its reply. */
  ended(outcome: CallRecordOutcome, text: string): void;
  /** It was not run, and will be by somebody else. */
  dropped(): void;
}

interface Ended {
  record: CallRecord & { outcome: CallRecordOutcome };
  text: string | undefined;
}

/** The calls that wait and run now, and the last ones that ended, safe or not. Its memory is bounded and dies with the process. */
export class CallBook {
  readonly #limits: BookLimits;
  readonly #now: () => number;
  readonly #open = new Map<string, CallRecord>();
  /** Oldest first. */
  readonly #ended = new Map<string, Ended>();
  #replyBytes = 0;

  /** `now` is in epoch milliseconds. */
  constructor(now: () => number, limits: Partial<BookLimits> = {}) {
    this.#now = now;
    this.#limits = { ...defaultLimits, ...limits };
  }

  /** `earlier`: what the journal says of its start by a process that is gone. */
  open(call: CallKey & { role: string; tool: string }, earlier?: JournalEntry): OpenCall {
    const key = keyOf(call);
    const { agent, requestId, role, tool } = call;
    const record: CallRecord = {
      request_id: requestId,
      agent,
      role,
      tool,
      state: 'queued',
      received_at: earlier?.receivedAt ?? this.#now(),
      ...(earlier && { started_at: earlier.startedAt }),
      ...(earlier?.server !== undefined && { server: earlier.server }),
    };
    this.#open.set(key, record);
    return {
      running: (server) => {
        Object.assign(record, { state: 'running', started_at: this.#now(), ...(server && { server }) });
      },
      ended: (outcome, text) => {
        this.#open.delete(key);
        this.#forget(key);
        const ended = { ...record, state: 'finished' as const, finished_at: this.#now(), outcome };
        this.#ended.set(key, { record: ended, text });
        this.#replyBytes += text.length;
        this.#trim();
      },
      dropped: () => this.#open.delete(key),
    };
  }

  /** What is known here of one call; `undefined` if nothing is. */
  status(call: CallKey): CallStatus | undefined {
    const key = keyOf(call);
    const open = this.#open.get(key);
    if (open) return { state: open.state === 'queued' ? 'queued' : 'running' };
    const ended = this.#ended.get(key);
    if (!ended) return undefined;
    const { record, text } = ended;
    return {
      state: 'finished',
      outcome: record.outcome,
      ...(text !== undefined && { reply: JSON.parse(text) as McpReply }),
    };
  }

  underWay(): CallRecord[] {
    return [...this.#open.values()];
  }

  recent(): CallRecord[] {
    return [...this.#ended.values()].map(({ record }) => record);
  }

  #trim(): void {
    for (const [key, ended] of this.#ended) {
      if (this.#ended.size > this.#limits.calls) this.#forget(key);
      else if (this.#replyBytes > this.#limits.replyBytes) this.#dropReply(ended);
      else break;
    }
  }

  #forget(key: string): void {
    const ended = this.#ended.get(key);
    if (!ended) return;
    this.#dropReply(ended);
    this.#ended.delete(key);
  }

  #dropReply(ended: Ended): void {
    this.#replyBytes -= ended.text?.length ?? 0;
    ended.text = undefined;
  }
}

function keyOf({ agent, requestId }: CallKey): string {
  return `${agent} ${requestId}`;
}
