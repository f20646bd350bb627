import { setImmediate } from 'node:timers/promises';
import { type JournalClaim, SignalboxError } from '@signalbox/protocol';
import { defaultJournalLimits, type JournalLimits } from '@signalbox/serving';
import type {
  ApprovalStore,
  CallEnd,
  CallKey,
  Journal,
  JournalEntry,
  JournalQuery,
  JournalRecord,
  OwnCallsQuery,
  ReceivedCall,
  SettledHow,
  StartedCall,
} from '@signalbox/store/journal';
import { startedAlready } from '@signalbox/store/rules';
import type { PostgresDatabase, Statement } from '../internal.ts';
import {
  type CallRow,
  callColumns,
  callStatements,
  databaseNow,
  endOf,
  entryOf,
  recordOf,
  rowOf,
} from './calls.ts';
import { Changes } from './changes.ts';
import { attempt, journalError } from './journal-error.ts';
import { callKey } from './journal-schema.ts';
import { PostgresApprovals } from './postgres-approvals.ts';
import { PostgresPins } from './postgres-pins.ts';
import { retention } from './retention.ts';
import { WriteQueue } from './write-queue.ts';

/** The kinds of writes, in the order in which they are applied. */
const kinds = { keep: 0, start: 1, record: 2, finish: 3, settle: 4 };
const defaultLeaseMs = 10_000;
/** The number of newest calls of an agent that are listed although their replies are not kept. */
const newestOfAgent = 50;

interface PostgresJournalDeps {
  database: PostgresDatabase;
  id: string;
  /** The resources to close together with the journal. */
  resources: AsyncDisposable;
  limits?: Partial<JournalLimits>;
  pruneEveryMs?: number;
  leaseMs?: number;
  now?: () => number;
  clock?: () => number;
}

/** The journal of one of the orchestrators that share it. */
export class PostgresJournal implements Journal {
  readonly id: string;
  readonly isShared = true;
  readonly approvals: ApprovalStore;
  readonly pins: PostgresPins;
  readonly failed: Promise<Error>;
  readonly keptMs: number;
  readonly #database: PostgresDatabase;
  readonly #resources: AsyncDisposable;
  readonly #clock: () => number | undefined;
  readonly #writes: WriteQueue;
  readonly #changes: Changes;
  /** The keys of the calls that this process has started or keeps, and that have not ended. */
  readonly #running = new Map<string, { isStarted: boolean }>();
  /** The incarnations that have started the calls of entries. */
  readonly #startedBy = new WeakMap<JournalEntry, number>();
  readonly #find: Statement;
  readonly #list: Statement;
  readonly #listOf: Statement;
  readonly #inDoubt: Statement;
  readonly #endLeader: Statement;
  readonly #lead: Statement;
  readonly #leaseMs: number;
  readonly #now: Statement;
  readonly #prune: (now: number) => Promise<void>;
  readonly #pruning: NodeJS.Timeout;
  #pruned: Promise<void> | undefined;

  constructor({ database, id, resources, clock, now = Date.now, ...options }: PostgresJournalDeps) {
    this.id = id;
    this.#database = database;
    this.#leaseMs = options.leaseMs ?? defaultLeaseMs;
    this.#resources = resources;
    this.#clock = clock ?? (() => undefined);
    const limits = { ...defaultJournalLimits, ...options.limits };
    this.keptMs = limits.keptAgeMs;
    const { promise, resolve } = Promise.withResolvers<Error>();
    this.failed = promise;
    const { keep, start, used, record, finish, settle } = callStatements(database);
    const writes = [
      { statement: keep },
      { statement: start, answers: true, isMarked: true, behind: [used] },
      { statement: record },
      { statement: finish },
      { statement: settle },
    ];
    this.#writes = new WriteQueue(database, writes);
    this.#changes = new Changes(database, (thrown) => resolve(journalError(thrown)));
    this.approvals = new PostgresApprovals(database, this.#changes);
    this.pins = new PostgresPins(database, this.#changes, now);
    this.#find = database.statement(`SELECT ${callColumns}, reply FROM @call WHERE ${callKey('')} = $1`);
    this.#list = database.statement(
      `SELECT ${callColumns} FROM @call WHERE received_at >= $1 ORDER BY received_at DESC LIMIT $2`,
    );
    this.#listOf = database.statement(
      `SELECT ${callColumns} FROM (
         (SELECT * FROM @call WHERE agent = $1 ORDER BY number DESC LIMIT ${newestOfAgent}) UNION
         (SELECT * FROM @call WHERE agent = $1 AND is_kept AND settled_at IS NOT NULL)
       ) AS own WHERE received_at >= $2 ORDER BY received_at DESC`,
    );
    // A call that runs at another living orchestrator is not in doubt.
    this.#inDoubt = database.statement(
      `SELECT number, agent, request_id AS "requestId" FROM @call
       WHERE settled_at IS NULL AND inbox = $1 AND number > $2 AND over_at <= coalesce($3::bigint, ${databaseNow})
         AND (finished_at IS NOT NULL OR incarnation NOT IN
           (SELECT epoch FROM @incarnation WHERE epoch <> $5 AND NOT is_over AND alive_until > clock_timestamp()))
       ORDER BY number LIMIT $4`,
    );
    // An orchestrator that began after the leader's last sign of life takes over at once. Others first check that they were not cut off
    // themselves.
    this.#endLeader = database.statement(
      `UPDATE @incarnation s SET is_over = true FROM @incarnation own, @leader l
       WHERE l.inbox = $1 AND own.epoch = $2 AND s.epoch = l.incarnation AND NOT s.is_over AND s.alive_until < clock_timestamp()
         AND (own.begun_at > s.alive_until OR own.alive_since < clock_timestamp() - $3 * interval '1 millisecond')`,
    );
    this.#lead = database.statement(
      `INSERT INTO @leader AS l VALUES ($1, $2) ON CONFLICT (inbox) DO UPDATE SET incarnation = excluded.incarnation
       WHERE l.incarnation = excluded.incarnation OR NOT EXISTS (SELECT FROM @incarnation s WHERE s.epoch = l.incarnation AND NOT s.is_over)
       RETURNING incarnation`,
    );
    this.#now = database.statement(`SELECT ${databaseNow} AS now`);
    this.#prune = retention(database, limits);
    this.#pruning = setInterval(() => {
      this.#pruned ??= this.#pruneAll().finally(() => {
        this.#pruned = undefined;
      });
    }, options.pruneEveryMs ?? 60_000).unref();
  }

  async find(key: CallKey): Promise<JournalEntry | undefined> {
    const [row] = await attempt(() =>
      this.#database.read<CallRow & { reply: string | null }>(this.#find, [textOf(key)]),
    );
    if (!row) return undefined;
    const entry = entryOf(row);
    this.#startedBy.set(entry, row.incarnation);
    return entry;
  }

  async lead(inbox: string): Promise<boolean> {
    const { epoch } = this.#database;
    return await attempt(() =>
      this.#database.transaction(async (transaction) => {
        transaction.write(this.#endLeader, [inbox, epoch, this.#leaseMs]);
        return (await transaction.query(this.#lead, [inbox, epoch])).length > 0;
      }),
    );
  }

  async keep(call: ReceivedCall): Promise<void> {
    const { startedAt: _ofTheRun, ...unstarted } = call;
    this.#runs(call);
    await this.#write(kinds.keep, call, this.#rowOf(unstarted));
  }

  async start(call: StartedCall, earlier?: JournalEntry): Promise<void> {
    const running = this.#runs(call);
    if (running.isStarted) throw startedAlready(call);
    running.isStarted = true;
    try {
      const replaces = earlier && this.#startedBy.get(earlier);
      if (!(await this.#write(kinds.start, call, { ...this.#rowOf(call), replaces })))
        throw startedAlready(call);
    } catch (thrown) {
      running.isStarted = false;
      throw thrown;
    }
  }

  #runs(call: CallKey): { isStarted: boolean } {
    const text = textOf(call);
    const running = this.#running.get(text) ?? { isStarted: false };
    this.#running.set(text, running);
    return running;
  }

  async finish(key: CallKey, end: CallEnd, earlier?: JournalEntry): Promise<void> {
    this.#running.delete(textOf(key));
    await this.#write(kinds.finish, key, {
      ...{ agent: key.agent, request_id: key.requestId, incarnation: this.#database.epoch },
      ...endOf(end),
      replaces: earlier && this.#startedBy.get(earlier),
    });
  }

  async record(call: ReceivedCall, end: CallEnd): Promise<void> {
    await this.#write(kinds.record, call, { ...this.#rowOf(call), ...endOf(end) });
  }

  settle(key: CallKey, how: SettledHow): void {
    const row = { agent: key.agent, request_id: key.requestId, how, now: this.#clock() };
    // If this is lost, the broker is asked about the request when its lifetime is over.
    this.#write(kinds.settle, key, row).catch(() => {});
  }

  async inDoubt(inbox: string, after: number, limit: number): Promise<{ key: CallKey; number: number }[]> {
    for (let from = after; ; ) {
      const values = [inbox, from, this.#clock() ?? null, limit, this.#database.epoch];
      const calls = await attempt(() =>
        this.#database.read<CallKey & { number: number }>(this.#inDoubt, values),
      );
      const ended = calls.filter((key) => !this.#running.has(textOf(key)));
      if (calls.length === 0 || ended.length > 0)
        return ended.map(({ number, agent, requestId }) => ({ number, key: { agent, requestId } }));
      from = calls.at(-1)!.number;
    }
  }

  async list({ since = 0, limit }: JournalQuery): Promise<JournalRecord[]> {
    const rows = await attempt(() => this.#database.readLong<CallRow>(this.#list, [since, limit]));
    return rows.map(recordOf);
  }

  async listOf(agent: string, query: OwnCallsQuery): Promise<JournalRecord[]> {
    const { since = 0, limit, isListed = () => true } = query;
    const rows = await attempt(() => this.#database.read<CallRow>(this.#listOf, [agent, since]));
    return rows.map(recordOf).filter(isListed).slice(0, limit);
  }

  /** Returns the only generation: the journal and the brokers' store are in one database, so neither can be older than the other. */
  claim(): JournalClaim {
    return { previous: [], next: this.id };
  }

  bound(): void {}

  generation(): string {
    return this.id;
  }

  async copyTo(): Promise<void> {
    throw new SignalboxError(
      'journal_failed',
      'the journal is in PostgreSQL, and this command copies files: make the backup with pg_dump or pg_basebackup',
    );
  }

  async [Symbol.asyncDispose](): Promise<void> {
    clearInterval(this.#pruning);
    await this.#pruned;
    // Writes that were queued in this turn are still written, although nobody waits for them.
    await setImmediate();
    await this.#writes.flush();
    await this.#changes[Symbol.asyncDispose]();
    await this.#resources[Symbol.asyncDispose]();
  }

  #rowOf(call: ReceivedCall) {
    return rowOf(call, this.#database.epoch, this.#clock());
  }

  #write(kind: number, key: CallKey, row: object): Promise<boolean> {
    return this.#writes.add(kind, textOf(key), row);
  }

  /** Deletes old records. If the database is away, the next call deletes them. */
  async #pruneAll(): Promise<void> {
    try {
      const [row] = await this.#database.read<{ now: number }>(this.#now);
      await this.#prune(this.#clock() ?? row!.now);
    } catch {
      // A call that must be written reports the failure to its caller.
    }
  }
}

function textOf({ agent, requestId }: CallKey): string {
  return `${agent} ${requestId}`;
}
