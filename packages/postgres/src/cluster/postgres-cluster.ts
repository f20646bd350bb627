import { setTimeout as wait } from 'node:timers/promises';
import type { Claimed, ClaimRequest, ClusterListener, ClusterPort, StoredMessage } from '@signalbox/store';
import { storedMessageOf, storedMetadataOf } from '@signalbox/store/rules';
import type { Transaction } from '../database/attempt.ts';
import type { PostgresDatabase } from '../database/database.ts';
import type { Statement } from '../database/statement.ts';
import {
  type MessageRow,
  messageColumns,
  messageOf,
  readMessageOf,
  readMessages,
} from '../inbox-store/message-rows.ts';
import { ClaimRows } from './claim-rows.ts';
import { Claims } from './claims.ts';
import { HeldInboxes } from './held-inboxes.ts';
import { Links, type LinksOptions, type News } from './links.ts';
import { LiveLane } from './live-lane.ts';
import { incarnationLives, LivingBrokers } from './living-brokers.ts';
import { Notifications } from './notifications.ts';
import { Presence } from './presence.ts';
import { repeat } from './repeat.ts';
import { anySeq, WakeUps, type Woken } from './wake-ups.ts';

/** The time after which messages that were read without an incarnation are read again, in milliseconds. */
const renewedMs = 100;
/** The time between two checks whether brokers that shared inboxes with this one are gone, in milliseconds. */
const freeGoneMs = 500;
/** The time between two looks for cancelled requests of this broker, in milliseconds. */
const cancelledMs = 250;
/** The most cancelled requests that one look finds. */
const cancelledAtOnce = 1000;
/** The time between two removals of rows of ended incarnations, in milliseconds. */
const forgetMs = 60_000;

/** The part of a cluster that a store needs. */
export type InboxCluster = Pick<
  PostgresCluster,
  'incarnation' | 'incarnations' | 'keepsHouse' | 'wakeUps' | 'tenuresOf' | 'lost' | 'freed' | 'settled'
>;

/**
 * The time from the take of an inbox to its loss. It begins when the take is committed: messages that were read earlier may be outdated.
 */
export interface Tenure {
  hasBegun: boolean;
  /**
   * The highest number that a message of the inbox had at the last read, or that was settled. If another broker tells of a message up to
   * this number, the inbox is read again.
   */
  knownUpTo: number;
  /** Resolves when it begins, with the highest number of a message that may have been handed out before. */
  readonly begins: Promise<number>;
  /** True if other brokers share the inbox. */
  readonly isShared: boolean;
}

/** The brokers that hold or share an inbox. */
interface HolderRow {
  incarnation: number | null;
  members: number[] | null;
  headSeq: number;
  isAlive: boolean;
}

/** The brokers on one schema of a database, as one of them sees them. */
export class PostgresCluster implements AsyncDisposable {
  /** The number of this broker's incarnation. */
  readonly incarnation: number;
  readonly wakeUps: WakeUps;
  readonly #database: PostgresDatabase;
  readonly #notifications: Notifications;
  readonly #links: Links;
  readonly #lane: LiveLane;
  readonly #inboxes: HeldInboxes;
  readonly #presence: Presence;
  readonly #brokers: LivingBrokers;
  readonly #name: string;
  readonly #forgetting: AsyncDisposable;
  readonly #claims: Claims;
  readonly #freeing: AsyncDisposable;
  readonly #holder: Statement;
  readonly #read: Statement;
  readonly #elsewhere: Statement;
  readonly #incarnations: Statement;
  readonly #cancelled: Statement;
  readonly #telling: AsyncDisposable;
  /** The inboxes that this broker has requested, and has neither given back nor is known to have lost. */
  readonly #held = new Map<string, Tenure>();
  #listener: ClusterListener | undefined;
  #onTold: ((text: string) => void) | undefined;

  private constructor(database: PostgresDatabase, broker: string, links: Links) {
    const { epoch: incarnation } = database;
    this.#database = database;
    this.incarnation = incarnation;
    this.#links = links;
    this.#notifications = new Notifications(database, {
      servers: database.listenServers,
      incarnation,
      onDue: () => this.#look(),
      onNews: (news) => this.#heard(news),
      links,
      onMissed: () => this.#wakeAll(),
    });
    this.wakeUps = new WakeUps(database, incarnation, this.#notifications);
    this.#lane = new LiveLane(database, incarnation, this.#notifications);
    const rows = new ClaimRows(database);
    const { wakeUps } = this;
    this.#inboxes = new HeldInboxes(database, { incarnation, wakeUps, claims: rows });
    const incarnations = async (transaction: Transaction) => (await this.incarnations(transaction)).living;
    this.#claims = new Claims(database, { incarnation, wakeUps, rows, incarnations });
    this.#freeing = repeat(freeGoneMs, () => this.#freeGone());
    this.#presence = new Presence(database, incarnation);
    this.#brokers = new LivingBrokers(database, incarnation, links, () => this.#presence.rewrite());
    this.#name = broker;
    this.#forgetting = repeat(forgetMs, async () => {
      if (this.keepsHouse) await forgetThoseThatAreOver(database);
    });
    this.#incarnations = database.statement(
      'SELECT epoch, (SELECT last_value FROM @incarnation_epoch) AS last FROM @incarnation WHERE NOT is_over',
    );
    const holder = `SELECT i.incarnation, i.members, i.head_seq AS "headSeq",
        EXISTS (SELECT FROM @incarnation s WHERE s.epoch = i.incarnation AND NOT s.is_over) AS "isAlive"
      FROM @inbox i WHERE i.name = $1`;
    this.#holder = database.statement(holder);
    this.#read = database.statement(
      `SELECT * FROM (${holder}) AS holder LEFT JOIN (${readMessages}) AS messages ON true ORDER BY seq`,
    );
    this.#cancelled = database.statement(
      `SELECT ${messageColumns('m')} FROM @message m JOIN @inbox i ON i.name = m.inbox
         LEFT JOIN @claim c ON c.inbox = m.inbox AND c.seq = m.seq
       WHERE m.is_cancelled AND (i.incarnation = $1 OR c.incarnation = $1) LIMIT ${cancelledAtOnce}`,
    );
    this.#telling = repeat(cancelledMs, () => this.#tellCancelled());
    this.#elsewhere = database.statement(
      `SELECT DISTINCT i.name FROM @inbox i JOIN @incarnation s ON s.epoch = i.incarnation OR s.epoch = ANY(i.members)
       WHERE i.name = ANY($1::text[]) AND s.epoch <> $2 AND NOT s.is_over`,
    );
  }

  /** Listens for messages of other brokers, and drops those for dead brokers. */
  static async open(
    database: PostgresDatabase,
    { broker, ...options }: { broker: string } & Pick<LinksOptions, 'listen' | 'monotonic'>,
  ): Promise<PostgresCluster> {
    await forgetThoseThatAreOver(database);
    await using opening = new AsyncDisposableStack();
    // A restored dump has the same secret and names the same brokers, but its tables have other numbers.
    const query = database.unnamed(
      `SELECT concat_ws(' ', value, '@meta'::regclass::oid, (SELECT oid FROM pg_database WHERE datname = current_database())) AS value
       FROM @meta WHERE key = 'link_secret'`,
    );
    const [secret] = await database.read<{ value: string }>(query);
    const onNews = (news: readonly News[]): void => cluster.#notifications.told(news);
    const own = { incarnation: database.epoch, secret: secret!.value, onNews };
    const links = opening.use(await Links.open({ ...options, ...own }));
    const cluster = opening.use(new PostgresCluster(database, broker, links));
    await cluster.#notifications.listen();
    await cluster.#brokers.look();
    opening.move();
    return cluster;
  }

  /**
   * Reads the living incarnations in a transaction, after its locks, so that none of the locked rows is newer than the result, and the last
   * epoch of all incarnations.
   */
  async incarnations(transaction: Transaction): Promise<{ living: ReadonlySet<number>; lastEpoch: number }> {
    const rows = await transaction.query<{ epoch: number; last: number }>(this.#incarnations);
    return { living: new Set(rows.map(({ epoch }) => epoch)), lastEpoch: rows[0]?.last ?? 0 };
  }

  /** True if this broker does the work that one broker does for all. */
  get keepsHouse(): boolean {
    return this.#brokers.keepsHouse;
  }

  /** Returns the port for a broker. */
  port(): ClusterPort {
    const brokers = this.#brokers;
    const database = this.#database;
    return {
      isAlone: false,
      get isCutOff() {
        return database.isCutOff;
      },
      get keepsHouse() {
        return brokers.keepsHouse;
      },
      presence: {
        broker: this.#name,
        present: (caller) => this.#presence.present(caller),
        absent: (key) => this.#presence.absent(key),
        elsewhere: (query) => this.#presence.elsewhere(query),
        connectedElsewhere: (agents) => this.#presence.connectedElsewhere(agents),
        brokers: () => brokers.look(),
        tellBrokers: (text, to) => this.#lane.tellBrokers(text, to),
        onTold: (listener) => {
          this.#onTold = listener;
        },
      },
      listen: (listener) => {
        this.#listener = listener;
      },
      take: (inbox) => this.#hold(inbox, false),
      join: async (inbox) => void (await this.#hold(inbox, true)),
      leasedElsewhere: (inboxes) => this.#leasedElsewhere(inboxes),
      giveBack: (inbox) => {
        this.#held.delete(inbox);
        this.#inboxes.giveBack(inbox);
      },
      tell: (inbox, message, sender) => this.#lane.send(inbox, message, sender),
      read: (inbox, ...range) => this.#readIfHeld(inbox, range),
      claim: (inbox, request) => this.#claim(inbox, request),
      claimAgain: (inbox, seq, keys) =>
        this.#inShared(inbox, () => this.#claims.claimAgain(inbox, seq, keys)),
      unclaim: (inbox, seqs, how) => this.#claims.unclaim(inbox, seqs, how),
    };
  }

  /** Takes an inbox for this broker, or shares it with others. */
  async #hold(inbox: string, isShared: boolean): Promise<number> {
    const known = this.#held.get(inbox);
    if (isShared && known?.isShared) return known.begins;
    const begins = isShared ? this.#inboxes.join(inbox) : this.#inboxes.take(inbox);
    const tenure: Tenure = { hasBegun: false, knownUpTo: 0, begins, isShared };
    this.#held.set(inbox, tenure);
    try {
      const takenSeq = await begins;
      tenure.hasBegun = true;
      return takenSeq;
    } catch (error) {
      if (this.#held.get(inbox) === tenure) this.#held.delete(inbox);
      throw error;
    }
  }

  async #leasedElsewhere(inboxes: readonly string[]): Promise<ReadonlySet<string>> {
    const rows = await this.#database.read<{ name: string }>(this.#elsewhere, [
      [...inboxes],
      this.incarnation,
    ]);
    return new Set(rows.map(({ name }) => name));
  }

  async #claim(inbox: string, request: ClaimRequest): Promise<Claimed> {
    const claimed = await this.#inShared(inbox, () => this.#claims.claim(inbox, request));
    return claimed ?? { messages: [], upTo: request.after, isAll: true };
  }

  /** Runs a change of an inbox that this broker shares. If the change finds that it does not, the inbox is lost. */
  async #inShared<T>(inbox: string, change: () => Promise<T | undefined>): Promise<T | undefined> {
    const tenure = this.#begun(inbox);
    if (!tenure?.isShared) return undefined;
    const changed = await change();
    if (changed === undefined) await this.#checkShared(inbox, tenure);
    return changed;
  }

  /**
   * Finds out whether another broker has taken a shared inbox for itself. If none has, this broker shares it again: its members must not
   * lose the inbox because the database lost a row.
   */
  async #checkShared(inbox: string, tenure: Tenure): Promise<void> {
    const [row] = await this.#database.read<HolderRow>(this.#holder, [inbox]);
    if (row?.members?.includes(this.incarnation) || this.#held.get(inbox) !== tenure) return;
    if (!(await this.#inboxes.joinAgain(inbox))) this.lost(inbox, tenure);
    else if (this.#held.get(inbox) === tenure) this.#listener?.freed(inbox, 'any');
  }

  /** Hands the messages of dead brokers to members of this broker. */
  async #freeGone(): Promise<void> {
    const shared = [...this.#held].flatMap(([inbox, { isShared }]) => (isShared ? [inbox] : []));
    if (shared.length === 0) return;
    for (const inbox of await this.#claims.freeGone(shared)) this.#listener?.freed(inbox, 'any');
  }

  /** Notes that a message was settled: if another broker tells of it late, it is not handed out. */
  settled(inbox: string, seq: number): void {
    const tenure = this.#held.get(inbox);
    if (tenure) tenure.knownUpTo = Math.max(tenure.knownUpTo, seq);
  }

  /** Reports messages that may be claimed to this broker. */
  freed(inbox: string, seqs: readonly number[]): void {
    if (this.#held.get(inbox)?.isShared) this.#listener?.freed(inbox, seqs);
  }

  /**
   * Reads messages of an inbox that this broker holds. One statement also reads who holds it, at the same moment. Once the incarnation is
   * over, any broker may settle the messages, and the read fails as soon as this broker knows it.
   */
  async #readIfHeld(
    inbox: string,
    [afterSeq, limit, maxBytes]: [afterSeq: number, limit: number, maxBytes: number],
  ): Promise<StoredMessage[]> {
    const values = [inbox, afterSeq, limit, Math.floor(maxBytes)];
    for (;;) {
      const tenure = this.#begun(inbox);
      const rows = await this.#database.read<HolderRow & (MessageRow | { seq: null })>(this.#read, values);
      const [row] = rows;
      const incarnation = row?.incarnation ?? undefined;
      if (tenure && row) tenure.knownUpTo = Math.max(tenure.knownUpTo, row.headSeq);
      if (incarnation === this.incarnation && row?.isAlive)
        return rows.flatMap((one) => (one.seq === null ? [] : [readMessageOf(one)]));
      if ((incarnation !== undefined && incarnation !== this.incarnation) || row?.members)
        this.lost(inbox, tenure);
      if (tenure === undefined || this.#held.get(inbox) !== tenure) return [];
      this.#database.check();
      if (incarnation === undefined) await this.#inboxes.take(inbox);
      else await wait(renewedMs);
    }
  }

  /** Handles the rows that other brokers have written for this one. */
  async #look(): Promise<void> {
    const listener = this.#listener;
    if (!listener) return;
    const woken = await this.wakeUps.find();
    for (const [inbox, what] of woken?.inboxes ?? []) this.#wake(inbox, what);
    if ([...(woken?.inboxes.values() ?? [])].some(({ isCancelled }) => isCancelled))
      await this.#tellCancelled();
    await woken?.drop();
    for await (const { inbox, message } of this.#lane.take())
      if (inbox === '') this.#onTold?.(message.header);
      else listener.told(inbox, message);
  }

  /**
   * Hands on that another broker has stored something in an inbox. Messages that came with it need no read. They may come late, though:
   * those that a read may have returned, and each read and settlement of this tenure says up to which number that is, are read again. If
   * the database has not answered for a while, others may have taken the inbox.
   */
  #heard({ row, inbox, stored = [] }: News & { inbox: string }): void {
    const listener = this.#listener;
    if (!listener) return;
    if (row !== undefined) this.wakeUps.heard(row, inbox);
    const tenure = this.#begun(inbox);
    const isHeld = tenure?.isShared === false && !this.#database.hasGap;
    if (stored.length === 0 || !isHeld || stored.some(({ message }) => message.seq <= tenure.knownUpTo))
      listener.wake(inbox);
    else for (const { message, after } of stored) listener.came(inbox, storedMessageOf(message), after);
  }

  #wake(inbox: string, { isLeased, hasMore, freed }: Woken): void {
    if (hasMore) this.#listener?.wake(inbox);
    if (freed.length > 0) this.#listener?.freed(inbox, freed.includes(anySeq) ? 'any' : freed);
    if (isLeased) return;
    // The row may have been read before the last take. If this check fails, the next read makes another one.
    const tenure = this.#begun(inbox);
    const checked = tenure?.isShared ? this.#checkShared(inbox, tenure) : this.#readIfHeld(inbox, [0, 0, 0]);
    checked.catch(() => {});
  }

  /** Reports to this broker which of its requests are cancelled. */
  async #tellCancelled(): Promise<void> {
    const rows = await this.#database.read<MessageRow>(this.#cancelled, [this.incarnation]);
    if (rows.length > 0) this.#listener?.cancelled(rows.map((row) => storedMetadataOf(messageOf(row))));
  }

  #wakeAll(): void {
    for (const [inbox, { isShared }] of [...this.#held]) {
      if (isShared) this.#listener?.freed(inbox, 'any');
      else this.#listener?.wake(inbox);
    }
  }

  /** Returns the tenures of those inboxes that this broker holds. */
  tenuresOf(inboxes: Iterable<string>): ReadonlyMap<string, Tenure> {
    const tenures = new Map<string, Tenure>();
    for (const inbox of inboxes) {
      const tenure = this.#begun(inbox);
      if (tenure) tenures.set(inbox, tenure);
    }
    return tenures;
  }

  #begun(inbox: string): Tenure | undefined {
    const tenure = this.#held.get(inbox);
    return tenure?.hasBegun ? tenure : undefined;
  }

  /** Notes that another broker took an inbox in a tenure of this one. Nothing happens if this one has taken it again since. */
  lost(inbox: string, tenure: Tenure | undefined): void {
    if (tenure === undefined || this.#held.get(inbox) !== tenure) return;
    this.#held.delete(inbox);
    this.#listener?.lost(inbox);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#forgetting[Symbol.asyncDispose]();
    await this.#freeing[Symbol.asyncDispose]();
    await this.#telling[Symbol.asyncDispose]();
    await this.#inboxes.idle();
    await this.#brokers[Symbol.asyncDispose]();
    await this.#presence[Symbol.asyncDispose]();
    await this.#notifications[Symbol.asyncDispose]();
    this.#links[Symbol.dispose]();
  }
}

/** Removes the rows that brokers with ended incarnations have left. */
async function forgetThoseThatAreOver(database: PostgresDatabase): Promise<void> {
  for (const table of ['wake', 'live', 'presence', 'broker_state'])
    await database.read(
      database.unnamed(
        `DELETE FROM @${table} t WHERE NOT EXISTS (SELECT FROM @incarnation s WHERE s.epoch = t.incarnation AND ${incarnationLives})`,
      ),
    );
}
