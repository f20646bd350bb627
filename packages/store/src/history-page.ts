import { agentOf } from './agent-of.ts';
import type { HistoryEntry, HistoryPage, HistoryQuery } from './history.ts';
import type { LoggedMessage } from './logged-message.ts';

/** The number of messages beyond the limit that are gathered before they are sorted. */
const spare = 2000;

/**
 * Collects the first or the last matching messages of a range, which may come in any order. If a message comes twice, the later one counts.
 */
export class PageOfHistory {
  readonly #query: HistoryQuery;
  /** The place of the last message of the page before. */
  readonly from: Place | undefined;
  readonly #bySeq = new Map<number, LoggedMessage>();
  #isCut = false;

  constructor(query: HistoryQuery) {
    this.#query = query;
    this.from = readCursor(query.cursor);
  }

  /** Keeps a message if it may belong to the page. Returns true if it matches the query. */
  consider(message: LoggedMessage): boolean {
    if (!this.#matches(message)) return false;
    this.#bySeq.set(message.seq, message);
    if (this.#bySeq.size > 2 * this.#query.limit + spare) this.#cut();
    return true;
  }

  result(): HistoryPage {
    this.#cut();
    const messages = [...this.#bySeq.values()];
    const last = messages.at(-1);
    return {
      entries: messages.map(toEntry),
      ...(this.#isCut && last && { cursor: `${last.shared.createdAt}.${last.seq}` }),
    };
  }

  #matches(message: LoggedMessage): boolean {
    const { shared, id } = message;
    const { since, until, agent, correlationId } = this.#query;
    if (shared.createdAt < since || (this.from && this.#order(placeOf(message), this.from) <= 0))
      return false;
    if (until !== undefined && shared.createdAt >= until) return false;
    if (agent !== undefined && shared.sender !== agent && agentOf(shared.inbox) !== agent) return false;
    return correlationId === undefined || message.correlationId === correlationId || id === correlationId;
  }

  /** Compares places in the order of the pages. */
  #order(a: Place, b: Place): number {
    return this.#query.newestFirst ? compare(b, a) : compare(a, b);
  }

  #cut(): void {
    const messages = [...this.#bySeq.values()].sort((a, b) => this.#order(placeOf(a), placeOf(b)));
    if (messages.length > this.#query.limit) this.#isCut = true;
    this.#bySeq.clear();
    for (const message of messages.slice(0, this.#query.limit)) this.#bySeq.set(message.seq, message);
  }
}

/** The place of a message in the order of creation. */
export interface Place {
  createdAt: number;
  seq: number;
}

function placeOf({ shared, seq }: LoggedMessage): Place {
  return { createdAt: shared.createdAt, seq };
}

function compare(a: Place, b: Place): number {
  return a.createdAt - b.createdAt || a.seq - b.seq;
}

function readCursor(cursor: string | undefined): Place | undefined {
  const found = /^(\d+)\.(\d+)$/.exec(cursor ?? '');
  return found ? { createdAt: Number(found[1]), seq: Number(found[2]) } : undefined;
}

function toEntry({ seq, shared, id, correlationId, thread, size, ending }: LoggedMessage): HistoryEntry {
  const { inbox, sender, kind, createdAt } = shared;
  const entry = {
    seq,
    inbox,
    id,
    sender,
    kind,
    createdAt,
    size,
    ...(correlationId !== undefined && { correlationId }),
    ...(thread !== undefined && { thread }),
  };
  if (!ending) return entry;
  const { at, outcome, reason } = ending;
  return { ...entry, settled: { at, outcome, ...(reason !== null && { reason }) } };
}
