import type { CountedEvent } from './audit-chain.ts';
import type { AuditEvent } from './audit-log.ts';

/** The most names by which events of one token, agent, role and code are distinguished at a time. */
const maxNames = 20;
const otherNames = '(others)';
/** The most counts at a time, so that a flood from very many agents does not fill the memory. */
const maxCounts = 4096;

/**
 * Counts events that come in floods, so that they take few rows: the first of each sort is written at once, and its repeats are written
 * later in one row.
 */
export class MergedEvents {
  readonly #counts = new Map<string, CountedEvent & { count: number; firstAt: number }>();
  readonly #names = new Map<string, number>();

  /** Counts an event. Returns the events that must be written now. */
  add(event: AuditEvent): CountedEvent[] {
    const sort = JSON.stringify([event.kind, event.tokenId, event.agent, event.role, event.code]);
    const named = this.#named(event, sort);
    const key = `${sort}${named.name ?? ''}`;
    const counted = this.#counts.get(key);
    const { count = 1, at } = event;
    if (!counted) {
      const due = this.#counts.size >= maxCounts ? this.takeAll() : [];
      this.#names.set(sort, (this.#names.get(sort) ?? 0) + 1);
      this.#counts.set(key, { ...named, count: 0, firstAt: at });
      return [...due, named];
    }
    const firstAt = counted.count === 0 ? at : Math.min(counted.firstAt, at);
    Object.assign(counted, event, { name: named.name, count: counted.count + count, firstAt });
    return [];
  }

  /** Returns the counted events, and begins anew. */
  takeAll(): CountedEvent[] {
    const all = [...this.#counts.values()].filter(({ count }) => count > 0);
    this.#counts.clear();
    this.#names.clear();
    return all;
  }

  get isEmpty(): boolean {
    return this.#counts.size === 0;
  }

  /** Gives an event another name if too many are in use. */
  #named(event: AuditEvent, sort: string): AuditEvent {
    const isKnown = this.#counts.has(`${sort}${event.name ?? ''}`);
    if (isKnown || (this.#names.get(sort) ?? 0) < maxNames) return event;
    return { ...event, name: otherNames };
  }
}
