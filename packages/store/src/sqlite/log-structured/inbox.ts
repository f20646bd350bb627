import { agentOf } from '../../agent-of.ts';
import type { Amount } from '../../caps.ts';
import type { AgentUsage, Counted } from './agent-usage.ts';
import type { MemtableEntry } from './memtable-entry.ts';

/** The state of one inbox in memory: its entries in the memtable, and the amount that is pending there and in segments. */
export class Inbox {
  readonly name: string;
  /** The agent to which the inbox belongs. */
  readonly agent: string;
  /** The number of pending messages, in the memtable and in segments. */
  messages: number;
  /** The bytes of the bodies of all pending messages. */
  bytes: number;
  /** Pending entries by their sequence numbers, in order. */
  readonly pendingEntries = new Map<number, MemtableEntry>();
  /** Pending and settled entries. Entries with the same id are linked, the newest first: several senders may use one id. */
  readonly #byId = new Map<string, MemtableEntry>();
  readonly #usage: AgentUsage;
  /** The id of the last search and the newest entry with it: an id is usually searched right before its message is added. */
  #sought: string | undefined;
  #found: MemtableEntry | undefined;

  /** `inSegments` is the pending amount in segments, which `usage` includes already. */
  constructor(name: string, inSegments: Amount, usage: AgentUsage) {
    this.name = name;
    this.agent = agentOf(name);
    this.messages = inSegments.messages;
    this.bytes = inSegments.bytes;
    this.#usage = usage;
  }

  get hasEntries(): boolean {
    return this.#byId.size > 0;
  }

  /** Counts a message that became pending. */
  count(counted: Counted, size: number): void {
    this.messages++;
    this.bytes += size;
    this.#usage.countPending(this.agent, counted, 1, size);
  }

  /** Finds the newest entry with an id, of this sender or of any sender. */
  find(id: string, sender?: string): MemtableEntry | undefined {
    let entry = this.#newest(id);
    while (entry !== undefined && sender !== undefined && entry.shared.sender !== sender)
      entry = entry.sameId;
    return entry;
  }

  /** Adds a pending entry. A new one is counted by {@link count}. */
  add(entry: MemtableEntry): void {
    entry.sameId = this.#newest(entry.id);
    this.#byId.set(entry.id, entry);
    this.#sought = undefined;
    this.pendingEntries.set(entry.seq, entry);
  }

  /** Puts the pending entries in order again after one with a lower number was added. */
  sort(): void {
    const sorted = [...this.pendingEntries.values()].sort((a, b) => a.seq - b.seq);
    this.pendingEntries.clear();
    for (const entry of sorted) this.pendingEntries.set(entry.seq, entry);
  }

  /** Marks an entry as no longer pending. It stays, so that its id is recognised. */
  settle({ seq, shared, size }: MemtableEntry): void {
    this.pendingEntries.delete(seq);
    this.messages--;
    this.bytes -= size;
    this.#usage.countPending(this.agent, shared, -1, -size);
  }

  /** Removes an entry that moves to a segment. A pending one is still counted. */
  remove(entry: MemtableEntry): void {
    if (entry.ending === undefined) this.pendingEntries.delete(entry.seq);
    const { id, sameId } = entry;
    let other = this.#newest(id);
    this.#sought = undefined;
    if (other === entry) {
      if (sameId) this.#byId.set(id, sameId);
      else this.#byId.delete(id);
      return;
    }
    while (other !== undefined && other.sameId !== entry) other = other.sameId;
    if (other) other.sameId = sameId;
  }

  #newest(id: string): MemtableEntry | undefined {
    if (id !== this.#sought) this.#found = this.#byId.get(id);
    this.#sought = id;
    return this.#found;
  }
}
