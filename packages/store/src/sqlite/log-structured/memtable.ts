import type { Amount } from '../../caps.ts';
import type { Ending } from '../../logged-message.ts';
import type { AgentUsage } from './agent-usage.ts';
import { Inbox } from './inbox.ts';
import type { MemtableEntry } from './memtable-entry.ts';

/**
 * The number of inboxes in memory beyond which those without entries are forgotten. Below it, the next message to such an inbox finds its
 * counts.
 */
const maxIdleInboxes = 10_000;

/** The entries that were put by one commit. */
interface Commit {
  readonly number: number;
  /** The time of the commit, in monotonic milliseconds. */
  readonly at: number;
  readonly entries: MemtableEntry[];
}

/** The messages whose records are in the commit log, in memory. It reads the disk only to count an inbox's messages in segments. */
export class Memtable {
  readonly #countInSegments: (inbox: string) => Amount;
  readonly #monotonic: () => number;
  readonly #usage: AgentUsage;
  readonly #inboxes = new Map<string, Inbox>();
  /** The commits, the oldest first. */
  #commits: Commit[] = [];
  /** The number of entries. */
  size = 0;
  /** The bytes of the bodies of all entries in the commit log, settled entries included. */
  loggedBytes = 0;

  constructor(countInSegments: (inbox: string) => Amount, monotonic: () => number, usage: AgentUsage) {
    this.#usage = usage;
    this.#monotonic = monotonic;
    this.#countInSegments = countInSegments;
  }

  /** The time when the oldest entries were put, in monotonic milliseconds; undefined if there are none. */
  get oldestAt(): number | undefined {
    return this.#commits[0]?.at;
  }

  inbox(name: string): Inbox {
    const known = this.#inboxes.get(name);
    if (known) return known;
    const inbox = new Inbox(name, this.#countInSegments(name), this.#usage);
    this.#inboxes.set(name, inbox);
    return inbox;
  }

  pendingEntry(inbox: string, seq: number): MemtableEntry | undefined {
    return this.#inboxes.get(inbox)?.pendingEntries.get(seq);
  }

  /** Returns the pending entries of an inbox, in order. */
  pendingIn(inbox: string): Iterable<MemtableEntry> {
    return this.#inboxes.get(inbox)?.pendingEntries.values() ?? [];
  }

  pendingWhere(matches: (entry: MemtableEntry) => boolean): MemtableEntry[] {
    const found: MemtableEntry[] = [];
    for (const entry of this.entries()) if (entry.ending === undefined && matches(entry)) found.push(entry);
    return found;
  }

  /** Yields the first pending entry of each inbox that has one. */
  *firstOfInboxes(): Iterable<MemtableEntry> {
    for (const { pendingEntries } of this.#inboxes.values()) {
      const [first] = pendingEntries.values();
      if (first) yield first;
    }
  }

  *entries(): Iterable<MemtableEntry> {
    for (const { entries } of this.#commits) yield* entries;
  }

  /** Returns the names of the inboxes with pending entries. */
  inboxNames(): string[] {
    const names: string[] = [];
    for (const { name, pendingEntries } of this.#inboxes.values())
      if (pendingEntries.size > 0) names.push(name);
    return names;
  }

  /** Adds an entry that the commit with this number put into an inbox. */
  add(inbox: Inbox, entry: MemtableEntry, commit: number): void {
    const last = this.#commits.at(-1);
    if (last?.number === commit) last.entries.push(entry);
    else this.#commits.push({ number: commit, at: this.#monotonic(), entries: [entry] });
    this.size++;
    this.loggedBytes += entry.loggedBytes;
    inbox.add(entry);
  }

  settle(entry: MemtableEntry, ending: Ending): void {
    entry.ending = ending;
    entry.body = undefined;
    this.inbox(entry.shared.inbox).settle(entry);
  }

  /**
   * Removes the entries of the oldest commits, until they are `count` entries or the pending ones belong to `inboxes` inboxes. `upTo` is
   * the number of the last of these commits, if there is one: the records of the log up to it are no longer needed.
   */
  takeOldest(
    count: number,
    inboxes = Number.POSITIVE_INFINITY,
  ): { entries: MemtableEntry[]; upTo: number | undefined } {
    let commits = 0;
    const found = new Set<string>();
    for (let taken = 0; commits < this.#commits.length && taken < count && found.size < inboxes; commits++) {
      const { entries } = this.#commits[commits]!;
      taken += entries.length;
      for (const { ending, shared } of entries) if (ending === undefined) found.add(shared.inbox);
    }
    const taken = this.#commits.splice(0, commits);
    const entries = taken.flatMap((commit) => commit.entries);
    for (const entry of entries) {
      this.size--;
      this.loggedBytes -= entry.loggedBytes;
      this.inbox(entry.shared.inbox).remove(entry);
    }
    return { entries, upTo: taken.at(-1)?.number };
  }

  /** Counts the entries that were put at or before a time. */
  countPutBy(time: number): number {
    let count = 0;
    for (const { at, entries } of this.#commits) if (at <= time) count += entries.length;
    return count;
  }

  /** Puts the pending entries of all inboxes in order, after a replay. */
  sort(): void {
    for (const inbox of this.#inboxes.values()) inbox.sort();
  }

  /**
   * Forgets inboxes without entries if there are many, because memory must not grow with the number of inboxes. Their messages in segments
   * are counted again when they are next used. Call it between transactions.
   */
  forgetIdleInboxes(): void {
    if (this.#inboxes.size <= maxIdleInboxes) return;
    for (const [name, inbox] of this.#inboxes) if (!inbox.hasEntries) this.#inboxes.delete(name);
  }

  clear(): void {
    this.#inboxes.clear();
    this.#commits = [];
    this.size = 0;
    this.loggedBytes = 0;
  }
}
