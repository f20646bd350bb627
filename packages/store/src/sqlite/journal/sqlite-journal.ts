import { randomBytes } from 'node:crypto';
import type { JournalClaim } from '@signalbox/protocol';
import { defaultJournalLimits, type JournalLimits } from '@signalbox/serving';
import type { Database } from 'better-sqlite3';
import type { CallKey } from '../../journal/call-key.ts';
import type {
  CallEnd,
  Journal,
  JournalEntry,
  JournalQuery,
  JournalRecord,
  OwnCallsQuery,
  ReceivedCall,
  SettledHow,
  StartedCall,
} from '../../journal/journal.ts';
import { startedAlready } from '../../journal/started-already.ts';
import { shrinkWhileOpen } from '../file-shrinker.ts';
import { rowChecksum } from '../row-checksum.ts';
import { WalSync } from '../wal-sync.ts';
import { type ApprovalRetention, ApprovalTable } from './approval-table.ts';
import { CallTable, type JournalRetention } from './call-table.ts';
import { GenerationTable } from './generation-table.ts';
import { GroupCommit } from './group-commit.ts';
import { copyOpenJournal, findJournalId } from './journal-copy.ts';
import { isLogShortened, journalError, openJournalDatabase } from './journal-database.ts';
import { KeptReplies, type KeptReplyLimits } from './kept-replies.ts';
import { PinTable } from './pin-table.ts';
import { SqliteApprovals } from './sqlite-approvals.ts';
import { SqlitePins } from './sqlite-pins.ts';

/** The file of a journal, and the limits of its calls. */
export interface SqliteJournalOptions {
  /** A file that nothing else uses. It is created if it is missing (0600, its folder 0700). Only one process can open it at a time. */
  file: string;
  /** Replaces some of the defaults, which are in `journalLimits` of the protocol. */
  limits?: Partial<JournalLimits>;
  /** The time between two deletions of old calls, in milliseconds; default a minute. */
  pruneEveryMs?: number;
  /** Returns monotonic milliseconds. */
  monotonic?: () => number;
  /** Called if the file is damaged, with a text about the consequence. */
  onDamage?: (detail: string) => void;
  /** Returns epoch milliseconds, for the times of pins. */
  now?: () => number;
}

/**
 * Opens a journal in an SQLite file. Rejects with `SignalboxError` `journal_in_use`, `journal_corrupt`,
 * `journal_other_version`, `journal_full` or `journal_failed`.
 */
export async function openSqliteJournal(options: SqliteJournalOptions): Promise<Journal> {
  const db = openJournalDatabase(options.file);
  let log: WalSync | undefined;
  try {
    log = new WalSync(options.file);
    return new SqliteJournal(db, log, options);
  } catch (thrown) {
    await log?.close();
    db.close();
    throw journalError(thrown, options.file);
  }
}

class SqliteJournal implements Journal {
  readonly id: string;
  readonly isShared = false;
  readonly approvals: SqliteApprovals;
  readonly pins: SqlitePins;
  readonly #db: Database;
  readonly #file: string;
  /** Returns the time for which the journal was open, in all processes together, in milliseconds. */
  readonly #runningMs: () => number;
  /** The keys of the calls that this process has started and not ended. */
  readonly #running = new Map<string, { isStarted: boolean }>();
  readonly #retention: JournalRetention;
  readonly #keptLimits: KeptReplyLimits;
  readonly #approvalRetention: ApprovalRetention;
  readonly #calls: CallTable;
  readonly #kept: KeptReplies;
  readonly #newest = new NewestCalls();
  /** The bytes of the replies at the last count and of those kept since. */
  #keptBytes: number;
  readonly #generations: GenerationTable;
  readonly #log: WalSync;
  readonly #commits: GroupCommit;
  readonly #pruning: NodeJS.Timeout;
  /** The number of copies that are being made. */
  #copies = 0;
  #closing: Promise<void> | undefined;

  constructor(db: Database, log: WalSync, options: SqliteJournalOptions) {
    this.#db = db;
    this.#log = log;
    this.#file = options.file;
    const limits = { ...defaultJournalLimits, ...options.limits };
    this.#retention = { maxAgeMs: limits.ageMs, maxRows: limits.calls, maxBytes: limits.bytes };
    this.#keptLimits = {
      maxAgeMs: limits.keptAgeMs,
      repliesPerAgent: limits.keptPerAgent,
      bytesPerAgent: limits.keptBytesPerAgent,
      bytes: limits.keptBytes,
    };
    this.#calls = new CallTable(db);
    this.#kept = new KeptReplies(db);
    this.#keptBytes = this.#kept.bytes();
    this.#generations = new GenerationTable(db);
    this.#commits = new GroupCommit(db, log, (thrown) => journalError(thrown, options.file));
    const approvals = new ApprovalTable(db);
    this.approvals = new SqliteApprovals(approvals, this.#commits, (action) => this.#attempt(action));
    this.#approvalRetention = { rows: limits.approvals, bytes: limits.approvalBytes };
    const pins = new PinTable(db);
    const write = (action: () => void) =>
      this.#attempt(() => this.#commits.commitNow([action], { sync: true }));
    this.pins = new SqlitePins(pins, write, (action) => this.#attempt(action), options.now);
    this.#findDamage(approvals, pins, options.onDamage ?? (() => {}));
    this.id = this.#readOrCreateId();
    this.#runningMs = this.#countRunningMs(options.monotonic ?? (() => performance.now()));
    this.#pruning = setInterval(() => this.#prune(), options.pruneEveryMs ?? 60_000);
    this.#pruning.unref();
    // A copy through the same connection begins again when the log is emptied.
    shrinkWhileOpen(db, this.#file, () => this.#copies > 0);
  }

  get failed(): Promise<Error> {
    return this.#commits.failed;
  }

  get keptMs(): number {
    return this.#keptLimits.maxAgeMs;
  }

  find(key: CallKey): JournalEntry | undefined {
    return this.#attempt(() => this.#calls.find(key));
  }

  async lead(): Promise<boolean> {
    return true;
  }

  keep(call: ReceivedCall): Promise<void> {
    const now = this.#runningMs();
    this.#runs(call);
    return this.#commits.write(() => this.#calls.keep(call, now), { sync: true });
  }

  async start(call: StartedCall, earlier?: JournalEntry): Promise<void> {
    const now = this.#runningMs();
    if (!earlier && this.find(call)?.wasStarted) throw startedAlready(call);
    const running = this.#runs(call);
    if (running.isStarted) throw startedAlready(call);
    running.isStarted = true;
    const start = () => {
      this.#calls.start(call, now);
      this.approvals.useNow(call);
    };
    try {
      await this.#commits.write(start, { sync: true });
    } catch (thrown) {
      running.isStarted = false;
      throw thrown;
    }
  }

  #runs(call: CallKey): { isStarted: boolean } {
    const text = textOf(call);
    let running = this.#running.get(text);
    if (!running) {
      running = { isStarted: false };
      this.#running.set(text, running);
      this.#newest.add(call.agent, call.requestId);
    }
    return running;
  }

  finish(key: CallKey, end: CallEnd): Promise<void> {
    this.#running.delete(textOf(key));
    return this.#commits.write(() => this.#calls.finish(key, end), { sync: false });
  }

  record(call: ReceivedCall, end: CallEnd): Promise<void> {
    const now = this.#runningMs();
    this.#newest.add(call.agent, call.requestId);
    return this.#commits.write(() => this.#calls.record(call, end, now), { sync: false });
  }

  settle(key: CallKey, how: SettledHow): void {
    const now = this.#runningMs();
    const settle = () => {
      const bytes = this.#calls.settle(key, how, now);
      if (bytes > 0) this.#replyKept(key.agent, bytes);
    };
    // If this is lost, the broker is asked about the request when its lifetime is over.
    this.#commits.writeLater(settle);
  }

  #replyKept(agent: string, bytes: number): void {
    this.#kept.bound(agent, this.#keptLimits);
    const before = this.#keptBytes;
    this.#keptBytes += bytes;
    const limit = this.#keptLimits.bytes;
    if (before <= limit && this.#keptBytes > limit) setImmediate(() => this.#prune());
  }

  async inDoubt(inbox: string, after: number, limit: number): Promise<{ key: CallKey; number: number }[]> {
    for (let from = after; ; ) {
      const calls = this.#attempt(() => this.#calls.inDoubt(inbox, from, this.#runningMs(), limit));
      const ended = calls.filter((key) => !this.#running.has(textOf(key)));
      if (calls.length === 0 || ended.length > 0) {
        return ended.map(({ number, agent, requestId }) => ({ number, key: { agent, requestId } }));
      }
      from = calls.at(-1)!.number;
    }
  }

  async list(query: JournalQuery): Promise<JournalRecord[]> {
    return this.#attempt(() => this.#calls.list(query));
  }

  async listOf(agent: string, query: OwnCallsQuery): Promise<JournalRecord[]> {
    return this.#attempt(() => this.#calls.listOf(agent, this.#newest.of(agent), query));
  }

  claim(inbox: string, onFailed: (error: unknown) => void): JournalClaim {
    const { claim, write } = this.#generations.add(inbox, `g-${randomBytes(12).toString('base64url')}`);
    try {
      this.#commits.commitNow([write], { sync: true });
    } catch (thrown) {
      onFailed(journalError(thrown, this.#file));
    }
    return claim;
  }

  bound(inbox: string, generation: string): void {
    this.#attempt(() =>
      this.#commits.commitNow([this.#generations.bound(inbox, generation)], { sync: true }),
    );
  }

  generation(inbox: string): string | undefined {
    return this.#generations.of(inbox);
  }

  async copyTo(file: string): Promise<void> {
    this.#attempt(() => this.#commits.flush());
    this.#copies++;
    try {
      await copyOpenJournal(this.#db, file);
    } finally {
      this.#copies--;
    }
  }

  [Symbol.asyncDispose](): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    clearInterval(this.#pruning);
    this.#commits.close();
    try {
      this.#saveRunningMs();
    } finally {
      await this.#log.close();
      this.#db.close();
    }
  }

  /** Deletes old calls in steps, each in its own turn of the event loop. */
  #prune(): void {
    if (!this.#db.open) return;
    let isMore = false;
    try {
      this.#commits.commitNow(
        [
          () => {
            const now = this.#runningMs();
            this.#saveRunningMs();
            // Each step does all of these: none may wait for the end of the others.
            const isMoreKept = this.#kept.prune(this.#keptLimits, now);
            const areMoreApprovals = this.approvals.prune(this.#approvalRetention);
            isMore = this.#calls.prune(this.#retention, now) || isMoreKept || areMoreApprovals;
            this.#keptBytes = this.#kept.bytes();
          },
        ],
        { sync: false },
      );
    } catch {
      // If the file is damaged, the next call that must be written reports it to somebody who can act.
    }
    if (isMore) setImmediate(() => this.#prune());
  }

  #countRunningMs(monotonic: () => number): () => number {
    const before = this.#db.prepare<[], number>('SELECT running_ms FROM journal').pluck().get() ?? 0;
    const openedAt = monotonic();
    return () => Math.floor(before + monotonic() - openedAt);
  }

  #saveRunningMs(): void {
    this.#db.prepare('UPDATE journal SET running_ms = ?').run(this.#runningMs());
  }

  /** Reports damage. A damaged journal may have lost calls. The broker then sees another journal, so that no unsafe call is made twice. */
  #findDamage(approvals: ApprovalTable, pins: PinTable, report: (detail: string) => void): void {
    const damagedPins = pins.countDamaged();
    if (damagedPins > 0)
      report(
        `${this.#file} is damaged (${damagedPins} pinned definitions). They are withheld until they are accepted: signalbox servers diff`,
      );
    const calls = this.#calls.countDamaged((call) => this.#newest.add(call.agent, call.requestId));
    const damaged = calls + approvals.countDamaged();
    const isShortened = isLogShortened(this.#db, this.#file);
    if (damaged === 0 && !isShortened) return;
    this.#commits.commitNow([() => this.#generations.forgetAll()], { sync: true });
    const found = damaged > 0 ? `${damaged} rows` : 'the end of its log';
    report(
      `${this.#file} is damaged (${found}). Requests that wait are not started if they are not safe to repeat: they end as outcome_unknown.`,
    );
  }

  #readOrCreateId(): string {
    const known = findJournalId(this.#db);
    if (known !== undefined) return known;
    const id = `j-${randomBytes(12).toString('base64url')}`;
    this.#db.prepare('INSERT INTO journal (id, checksum) VALUES (?, ?)').run(id, rowChecksum(id));
    return id;
  }

  #attempt<T>(action: () => T): T {
    try {
      return action();
    } catch (thrown) {
      throw journalError(thrown, this.#file);
    }
  }
}

function textOf({ agent, requestId }: CallKey): string {
  return `${agent} ${requestId}`;
}

/** The most calls that are known for each agent, and the most agents for which they are known. */
const maxCalls = 50;
const maxAgents = 1_000;

/**
 * Knows the newest calls of each agent, so that they can be listed without an index on the disk, for which every call would pay. If there
 * are too many agents, those that have made no call for the longest time are forgotten.
 */
class NewestCalls {
  readonly #ids = new Map<string, string[]>();

  /** Adds a call, in the order of the starts. */
  add(agent: string, requestId: string): void {
    const ids = this.#ids.get(agent) ?? [];
    ids.push(requestId);
    // This is not done at each call, since removing the first element moves all others.
    if (ids.length > 2 * maxCalls) ids.splice(0, maxCalls);
    this.#ids.delete(agent);
    this.#ids.set(agent, ids);
    if (this.#ids.size <= maxAgents) return;
    const [oldest] = this.#ids.keys();
    this.#ids.delete(oldest!);
  }

  /** Returns the ids of an agent's newest calls, some of which may have been deleted. */
  of(agent: string): readonly string[] {
    return (this.#ids.get(agent) ?? []).slice(-maxCalls);
  }
}
