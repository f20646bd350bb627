import { agentOf } from '../../agent-of.ts';
import type { Amount } from '../../caps.ts';
import type { AgentUsage, Counted } from './agent-usage.ts';
import type { MemtableEntry } from './memtable-entry.ts';

/** What is known in memory of one inbox: its entries in the memtable, and how much is pending there and in segments. */
export class Inbox {
  readonly name: string;
  /** The agent whose inbox it is. */
  readonly agent: string;
  /** Pending messages of the inbox, in the memtable and in segments. */
  messages: number;
  /** Bytes of the bodies of all pending messages. */
  bytes: number;
  /** Pending entries by their sequence numbers, in order. */
  readonly pendingEntries = new Map<number, MemtableEntry>();
  /** Pending and settled entries. Those with the same id are linked, the newest first: several senders may use one id. */
  readonly #byId = new Map<string, MemtableEntry>();
  readonly #usage: AgentUsage;
  /** The id that was looked for last, and the newest entry with it: an id is mostly looked for right before its message is added. */
  #sought: string | undefined;
  #found: MemtableEntry | undefined;

  /** `inSegments` is what is pending in segments, which `usage` counts already. */
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

  /** Counts a message that has become pending. */
  count(counted: Counted, size: number): void {
    this.messages++;
    this.bytes += size;
    this.#usage.countPending(this.agent, counted, 1, size);
  }

  /** Finds the newest entry with an id, of this sender or of any. */
  find(id: string, sender?: string): MemtableEntry | undefined {
    let entry = this.#newest(id);
    while (entry !== undefined && sender !== undefined && entry.shared.sender !== sender)
      entry = entry.sameId;
    return entry;
  }

  /** Adds an entry that is pending, which {@link count} counts where it is new. */
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

  /** An entry is no longer pending. It stays, so that its id is recognised. */
  settle({ seq, shared, size }: MemtableEntry): void {
    this.pendingEntries.delete(seq);
    this.messages--;
    this.bytes -= size;
    this.#usage.countPending(this.agent, shared, -1, -size);
  }

  /** Removes an entry that goes to a segment. If it is pending, it is still counted. */
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
