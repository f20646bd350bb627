import { LRUCache } from 'lru-cache';
import type { ToolCallResult } from '../tool-call.ts';

/** An answer that is kept until `expiresAt`, on the injected clock. */
interface Entry {
  tool: string;
  answer: ToolCallResult;
  expiresAt: number;
}

/** The bounds of a store. */
export interface ResponseStoreOptions {
  /** Monotonic milliseconds. */
  now: () => number;
  entriesPerTool: number;
  /** The most bytes of all answers together, as JSON. */
  maxBytes: number;
}

/**
 * Holds answers by address. Their number per tool and the bytes of all of them are bounded; the answer that was not read for the longest
 * time is dropped first. The class checks expiry itself, because the library treats a clock at zero as no clock.
 */
export class ResponseStore {
  readonly #now: () => number;
  readonly #entriesPerTool: number;
  readonly #entries: LRUCache<string, Entry>;
  /** The addresses of each tool, beginning with the one that was not read for the longest time. */
  readonly #addresses = new Map<string, Set<string>>();

  constructor({ now, entriesPerTool, maxBytes }: ResponseStoreOptions) {
    this.#now = now;
    this.#entriesPerTool = entriesPerTool;
    this.#entries = new LRUCache({
      maxSize: maxBytes,
      // A single answer must not push out most of the others.
      maxEntrySize: Math.max(1, Math.floor(maxBytes / 4)),
      sizeCalculation: ({ answer }) => Buffer.byteLength(JSON.stringify(answer)),
      disposeAfter: ({ tool }, address) => this.#forget(tool, address),
    });
  }

  /** The number of answers that may still be read. */
  get size(): number {
    for (const [address, { expiresAt }] of [...this.#entries.entries()]) {
      if (this.#now() >= expiresAt) this.#entries.delete(address);
    }
    return this.#entries.size;
  }

  /** Returns the answer at an address, if it may still be read. */
  read(address: string): ToolCallResult | undefined {
    const entry = this.#entries.get(address);
    if (!entry) return undefined;
    if (this.#now() >= entry.expiresAt) {
      this.#entries.delete(address);
      return undefined;
    }
    this.#noteUse(entry.tool, address);
    return entry.answer;
  }

  /** Keeps an answer for `ttlMs` milliseconds. */
  write(address: string, tool: string, answer: ToolCallResult, ttlMs: number): void {
    this.#entries.delete(address);
    this.#entries.set(address, { tool, answer, expiresAt: this.#now() + ttlMs });
    if (!this.#entries.has(address)) return;
    const addresses = this.#noteUse(tool, address);
    const [oldest] = addresses;
    if (addresses.size > this.#entriesPerTool) this.#entries.delete(oldest!);
  }

  /** Returns true if an answer of this tool is kept. */
  holds(tool: string): boolean {
    return this.#addresses.has(tool);
  }

  /** Forgets all answers. */
  clear(): void {
    this.#entries.clear();
  }

  /** Records that an address was used last among the addresses of its tool. */
  #noteUse(tool: string, address: string): Set<string> {
    const addresses = this.#addresses.get(tool) ?? new Set<string>();
    this.#addresses.set(tool, addresses);
    addresses.delete(address);
    return addresses.add(address);
  }

  #forget(tool: string, address: string): void {
    const addresses = this.#addresses.get(tool);
    addresses?.delete(address);
    if (addresses?.size === 0) this.#addresses.delete(tool);
  }
}
