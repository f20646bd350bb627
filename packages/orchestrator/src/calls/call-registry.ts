import type { CallRecord, CallStatus, McpReply } from '@signalbox/protocol';
import type { CallKey, JournalEntry } from '../journal/journal.ts';
import { BookedCall, type BookPorts, type CallName, type OpenCall } from './tracked-call.ts';

/** What this process remembers of calls that have ended. */
export interface BookLimits {
  calls: number;
  /** Of their replies' texts, together. */
  replyBytes: number;
}

const defaultLimits: BookLimits = { calls: 1_000, replyBytes: 16 * 1024 * 1024 };

/**
 * The calls that wait and run now, and the last ones that ended, safe or not. Its memory is bounded and dies with the process.
 * Calls come and go all the time and are hardly ever asked for: nothing is indexed, and who asks has all of them looked through.
 */
export class CallBook {
  readonly #limits: BookLimits;
  readonly #ports: BookPorts;
  readonly #open = new Set<BookedCall>();
  /** A ring: the call that was the n-th to end is at `n` modulo its length. */
  readonly #ended: BookedCall[] = [];
  #endedCount = 0;
  /** No call that ended before this one has its reply left. */
  #oldestReply = 0;
  #replyBytes = 0;

  /** `now` is in epoch milliseconds. */
  constructor(now: () => number, limits: Partial<BookLimits> = {}) {
    this.#ports = { now, left: (call) => this.#left(call) };
    this.#limits = { ...defaultLimits, ...limits };
  }

  /** `earlier`: what the journal says of its start by a process that is gone. */
  open(call: CallName, earlier?: JournalEntry): OpenCall {
    const booked = new BookedCall(call, earlier, this.#ports);
    this.#open.add(booked);
    return booked;
  }

  /** What is known here of one call; `undefined` if nothing is. */
  status(call: CallKey): CallStatus | undefined {
    for (const open of this.#open) {
      if (open.is(call)) return { state: open.state };
    }
    const ended = this.#newestFirst().find((one) => one.is(call));
    if (ended?.outcome === undefined) return undefined;
    const { outcome, text } = ended;
    return {
      state: 'finished',
      outcome,
      ...(text !== undefined && { reply: JSON.parse(text) as McpReply }),
    };
  }

  underWay(): CallRecord[] {
    return [...this.#open].map((call) => call.record());
  }

  /** Oldest first. A request that was answered more than once is there once. */
  recent(): CallRecord[] {
    const records = new Map<string, CallRecord>();
    for (const call of this.#newestFirst()) {
      const key = `${call.name.agent} ${call.name.requestId}`;
      if (!records.has(key)) records.set(key, call.record());
    }
    return [...records.values()].reverse();
  }

  #left(call: BookedCall): void {
    this.#open.delete(call);
    if (call.outcome !== undefined) this.#keep(call);
  }

  #keep(call: BookedCall): void {
    const { calls, replyBytes } = this.#limits;
    const at = this.#endedCount++ % calls;
    const forgotten = this.#ended[at];
    if (forgotten) this.#dropReply(forgotten);
    this.#ended[at] = call;
    this.#replyBytes += call.text?.length ?? 0;
    this.#oldestReply = Math.max(this.#oldestReply, this.#endedCount - calls);
    while (this.#replyBytes > replyBytes) this.#dropReply(this.#ended[this.#oldestReply++ % calls]!);
  }

  #dropReply(call: BookedCall): void {
    this.#replyBytes -= call.text?.length ?? 0;
    call.text = undefined;
  }

  #newestFirst(): BookedCall[] {
    const at = this.#endedCount % this.#limits.calls;
    return [...this.#ended.slice(at), ...this.#ended.slice(0, at)].reverse();
  }
}
