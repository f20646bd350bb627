import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Database } from 'better-sqlite3';
import type { HistoryEntry, HistoryPage, HistoryQuery } from '../history.ts';
import type { Outcome } from '../inbox-store.ts';
import type { Messages } from './messages.ts';
import type { RecentMessage } from './recent-message.ts';

/** Rows looked at before the event loop gets its turn: a few milliseconds. */
const rowsPerStep = 2000;

interface Row {
  id: string;
  inbox: string;
  sender: string;
  kind: string;
  correlationId: string | null | undefined;
  seq: number;
  size: number;
  createdAt: number;
  settledAt: number | null;
  outcome: Outcome | null;
  reason: string | null;
}

/**
 * A page of messages by time of creation. Nothing is indexed for this, so that storing a message costs nothing more:
 * everything that may be in the range is looked at, in steps between which the store goes on with its work. Messages move on
 * meanwhile (recent, in a bundle, recent again, in the table, recent again as settled, in a page), so recent ones are looked at
 * between these, too.
 */
export async function readHistory(
  db: Database,
  messages: Messages,
  query: HistoryQuery,
): Promise<HistoryPage> {
  const page = new PageOfRows(query);
  for (const recent of messages.recent()) page.consider(rowOf(recent));
  await scanBundles(messages, page);
  for (const recent of messages.recent()) page.consider(rowOf(recent));
  await scanUnsettled(db, page);
  for (let number = 0; ; await nextTurn()) {
    number = messages.pages.next(number, query.since);
    if (number === 0) break;
    for (const settled of messages.pages.messagesOf(number))
      page.consider({ ...settled, settledAt: settled.at });
  }
  for (const recent of messages.recent()) page.consider(rowOf(recent));
  return page.result();
}

function rowOf(recent: RecentMessage): Row {
  const { id, inbox, sender, kind, correlationId, seq, size, createdAt, ending } = recent;
  const { at: settledAt, outcome, reason } = ending ?? { at: null, outcome: null, reason: null };
  return { id, inbox, sender, kind, correlationId, seq, size, createdAt, settledAt, outcome, reason };
}

async function scanUnsettled(db: Database, page: PageOfRows): Promise<void> {
  const step = db.prepare<[seq: number, limit: number], Row>(
    `SELECT id, inbox, sender, kind, correlation_id AS correlationId, seq, size, created_at AS createdAt,
       NULL AS settledAt, NULL AS outcome, NULL AS reason
     FROM message WHERE seq > ? ORDER BY seq LIMIT ?`,
  );
  for (let after = 0; ; await nextTurn()) {
    const rows = step.all(after, rowsPerStep);
    for (const row of rows) page.consider(row);
    if (rows.length < rowsPerStep) return;
    after = rows.at(-1)?.seq ?? after;
  }
}

async function scanBundles(messages: Messages, page: PageOfRows): Promise<void> {
  const unsettled = { settledAt: null, outcome: null, reason: null };
  for (let after = 0; ; await nextTurn()) {
    const bundles = messages.nextBundles(after);
    for (const bundle of bundles) {
      for (const { id, inbox, sender, kind, correlationId, seq, size, createdAt } of bundle.messages)
        page.consider({ id, inbox, sender, kind, correlationId, seq, size, createdAt, ...unsettled });
      after = bundle.number;
    }
    if (bundles.length === 0) return;
  }
}

/** The first rows of a range that match, whatever order they come in. */
class PageOfRows {
  readonly #query: HistoryQuery;
  readonly #from: Place;
  readonly #bySeq = new Map<number, Row>();
  #isCut = false;

  constructor(query: HistoryQuery) {
    this.#query = query;
    this.#from = readCursor(query.cursor) ?? { createdAt: query.since, seq: 0 };
  }

  consider(row: Row): void {
    const { until, agent, correlationId } = this.#query;
    if (compare(row, this.#from) <= 0 || row.createdAt < this.#query.since) return;
    if (until !== undefined && row.createdAt >= until) return;
    if (agent !== undefined && row.sender !== agent && agentOf(row.inbox) !== agent) return;
    if (correlationId !== undefined && row.correlationId !== correlationId && row.id !== correlationId) {
      return;
    }
    this.#bySeq.set(row.seq, row);
    if (this.#bySeq.size > 2 * this.#query.limit + rowsPerStep) this.#cut();
  }

  result(): HistoryPage {
    this.#cut();
    const rows = [...this.#bySeq.values()];
    const last = rows.at(-1);
    return {
      entries: rows.map(toEntry),
      ...(this.#isCut && last && { cursor: `${last.createdAt}.${last.seq}` }),
    };
  }

  #cut(): void {
    const rows = [...this.#bySeq.values()].sort(compare);
    if (rows.length > this.#query.limit) this.#isCut = true;
    this.#bySeq.clear();
    for (const row of rows.slice(0, this.#query.limit)) this.#bySeq.set(row.seq, row);
  }
}

type Place = Pick<Row, 'createdAt' | 'seq'>;

function compare(a: Place, b: Place): number {
  return a.createdAt - b.createdAt || a.seq - b.seq;
}

function readCursor(cursor: string | undefined): Place | undefined {
  const found = /^(\d+)\.(\d+)$/.exec(cursor ?? '');
  return found ? { createdAt: Number(found[1]), seq: Number(found[2]) } : undefined;
}

function agentOf(inbox: string): string {
  const hash = inbox.indexOf('#');
  return hash < 0 ? inbox : inbox.slice(0, hash);
}

function toEntry(row: Row): HistoryEntry {
  const { seq, inbox, id, sender, kind, correlationId, createdAt, size, settledAt, outcome, reason } = row;
  return {
    seq,
    inbox,
    id,
    sender,
    kind,
    createdAt,
    size,
    ...(correlationId != null && { correlationId }),
    ...(settledAt !== null &&
      outcome !== null && { settled: { at: settledAt, outcome, ...(reason !== null && { reason }) } }),
  };
}
