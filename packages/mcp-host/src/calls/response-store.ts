import { LRUCache } from 'lru-cache';
import type { ToolCallResult } from './tool-call.ts';

/** An answer kept until `expiresAt`, on the injected clock. */
interface Entry {
  tool: string;
  outcome: ToolCallResult;
  expiresAt: number;
}

export interface ResponseStoreOptions {
  /** Monotonic milliseconds. */
  now: () => number;
  entriesPerTool: number;
  /** Of all answers together, as JSON. */
  maxBytes: number;
}

/**
 * Answers by address, bounded in number per tool and in bytes for all of them; what was not read for the longest time goes
 * first. The expiry is our own: the library's takes a clock at zero for none.
 */
export class ResponseStore {
  readonly #now: () => number;
  readonly #entriesPerTool: number;
  readonly #entries: LRUCache<string, Entry>;
  /** The addresses of each tool, the one not read for the longest time first. */
  readonly #shelves = new Map<string, Set<string>>();

  constructor({ now, entriesPerTool, maxBytes }: ResponseStoreOptions) {
    this.#now = now;
    this.#entriesPerTool = entriesPerTool;
    this.#entries = new LRUCache({
      maxSize: maxBytes,
      // One answer must not push out most of the others.
      maxEntrySize: Math.max(1, Math.floor(maxBytes / 4)),
      sizeCalculation: ({ outcome }) => Buffer.byteLength(JSON.stringify(outcome)),
      disposeAfter: ({ tool }, address) => this.#unshelve(tool, address),
    });
  }

  /** Answers that may still be read. */
  get size(): number {
    for (const [address, { expiresAt }] of [...this.#entries.entries()]) {
      if (this.#now() >= expiresAt) this.#entries.delete(address);
    }
    return this.#entries.size;
  }

  read(address: string): ToolCallResult | undefined {
    const entry = this.#entries.get(address);
    if (!entry) return undefined;
    if (this.#now() >= entry.expiresAt) {
      this.#entries.delete(address);
      return undefined;
    }
    this.#shelve(entry.tool, address);
    return entry.outcome;
  }

  write(address: string, tool: string, outcome: ToolCallResult, ttlMs: number): void {
    this.#entries.delete(address);
    this.#entries.set(address, { tool, outcome, expiresAt: this.#now() + ttlMs });
    if (!this.#entries.has(address)) return;
    const shelf = this.#shelve(tool, address);
    const [oldest] = shelf;
    if (shelf.size > this.#entriesPerTool) this.#entries.delete(oldest!);
  }

  /** Whether anything of this tool is kept. */
  holds(tool: string): boolean {
    return this.#shelves.has(tool);
  }

  clear(): void {
    this.#entries.clear();
  }

  /** Puts it behind all others of its tool. */
  #shelve(tool: string, address: string): Set<string> {
    const shelf = this.#shelves.get(tool) ?? new Set<string>();
    this.#shelves.set(tool, shelf);
    shelf.delete(address);
    return shelf.add(address);
  }

  #unshelve(tool: string, address: string): void {
    const shelf = this.#shelves.get(tool);
    shelf?.delete(address);
    if (shelf?.size === 0) this.#shelves.delete(tool);
  }
}
