import type { CountedEvent } from './audit-chain.ts';
import { type AuditEvent, type AuditKind, auditKinds } from './audit-log.ts';

const allKinds = Object.keys(auditKinds) as AuditKind[];
const flushAfterMs = 1000;
const mergeForMs = 60_000;
/** The number of waiting events at which they are written at once. */
const maxWaiting = 256;
/** The most events that are kept while the medium refuses them. */
const maxKept = 4096;

/** The dependencies of an {@link AuditBuffer}. */
export interface AuditBufferDeps {
  /**
   * Writes events. It returns, or its promise resolves, when they are written; with `isUrgent`, when they are durable. Throws or rejects if
   * they can't be written: they are passed again later.
   */
  write: (events: readonly CountedEvent[], isUrgent: boolean) => void | Promise<void>;
  /** Returns epoch milliseconds. */
  now: () => number;
  /** Called when events could not be written; they are tried again. */
  onError: (error: unknown) => void;
}

/**
 * Holds the events of an audit log until the medium has them. A change is written at once, other events within a second, and repeats of a
 * merged event within a minute. Events that the medium refuses are kept for a while; those that are given up are counted.
 */
export class AuditBuffer {
  readonly #deps: AuditBufferDeps;
  readonly #merged = new MergedEvents();
  #waiting: CountedEvent[] = [];
  /** True from a failed write until the next one that succeeds. Until then only the timer tries again. */
  #isFailing = false;
  /** The number of events that were given up because the medium refused them. */
  #lost = 0;
  /** The last write that has not ended yet. */
  #writing: Promise<void> | undefined;
  #flushTimer: NodeJS.Timeout | undefined;
  #mergeTimer: NodeJS.Timeout | undefined;

  constructor(deps: AuditBufferDeps) {
    this.#deps = deps;
  }

  record(event: AuditEvent): void {
    this.#waiting.push(...this.merge([event]));
    if (this.#isFailing) this.#giveUpOldest();
    else if (event.kind === 'change') this.#tryWrite(true);
    else if (this.#waiting.length >= maxWaiting) this.#tryWrite(false);
    else if (this.#waiting.length > 0)
      this.#flushTimer ??= setTimeout(() => this.#tryWrite(false), flushAfterMs).unref();
  }

  /** Returns the events that are to be written now, and counts the others. */
  merge(events: readonly AuditEvent[]): CountedEvent[] {
    const due = events.flatMap((event) => (event.merged ? this.#merged.add(event) : [event]));
    if (!this.#merged.isEmpty) this.#mergeTimer ??= setTimeout(() => this.#endMerging(), mergeForMs).unref();
    return due;
  }

  /**
   * Resolves when all changes so far are written, or are kept because the medium refuses them. It is `undefined` if nothing has to be
   * waited for.
   */
  get writing(): Promise<void> | undefined {
    return this.#writing;
  }

  /**
   * Writes everything that was recorded of these kinds, and ends their counting of merged events. Other counting goes on: a read of the log
   * is an event, too, and who reads again and again must not make a row each time. Throws or rejects if that fails.
   */
  flush(kinds: readonly AuditKind[]): void | Promise<void> {
    this.#waiting.push(...this.#merged.take(kinds));
    if (this.#merged.isEmpty) {
      clearTimeout(this.#mergeTimer);
      this.#mergeTimer = undefined;
    }
    const written = this.#write(false);
    // A running write includes the events that were recorded before it.
    return written ?? this.#writing;
  }

  /** Stops the timers. */
  close(): void {
    clearTimeout(this.#mergeTimer);
    clearTimeout(this.#flushTimer);
  }

  #endMerging(): void {
    this.#mergeTimer = undefined;
    this.#waiting.push(...this.#merged.take(allKinds));
    this.#tryWrite(false);
  }

  /** Writes the events that wait. If that fails, the process must neither end nor run out of memory. */
  #tryWrite(isUrgent: boolean): void {
    try {
      const written = this.#write(isUrgent);
      if (!written) return;
      const ended = written
        .catch((error: unknown) => this.#failed(error))
        .finally(() => {
          if (this.#writing === ended) this.#writing = undefined;
        });
      this.#writing = ended;
    } catch (error) {
      this.#failed(error);
    }
  }

  #failed(error: unknown): void {
    this.#isFailing = true;
    this.#giveUpOldest();
    this.#flushTimer ??= setTimeout(() => this.#tryWrite(false), flushAfterMs).unref();
    this.#deps.onError(error);
  }

  /** A change is given up only when nothing but changes waits. */
  #giveUpOldest(): void {
    while (this.#waiting.length > maxKept) {
      const oldest = this.#waiting.findIndex(({ kind }) => !auditKinds[kind].kept);
      this.#waiting.splice(Math.max(0, oldest), 1);
      this.#lost++;
    }
  }

  #write(isUrgent: boolean): void | Promise<void> {
    clearTimeout(this.#flushTimer);
    this.#flushTimer = undefined;
    if (this.#waiting.length === 0) return;
    const [events, lost] = [this.#waiting, this.#lost];
    this.#waiting = [];
    this.#lost = 0;
    const keep = (error: unknown): never => {
      this.#waiting = [...events, ...this.#waiting];
      this.#lost += lost;
      throw error;
    };
    const worked = (): void => {
      this.#isFailing = false;
    };
    try {
      const written = this.#deps.write(lost === 0 ? events : [this.#lossOf(lost), ...events], isUrgent);
      return written ? written.then(worked, keep) : worked();
    } catch (error) {
      keep(error);
    }
  }

  #lossOf(count: number): CountedEvent {
    const detail = 'events could not be written, because the disk took none';
    return { kind: 'loss', at: this.#deps.now(), code: 'audit_events_lost', detail, count };
  }
}

/** The most names by which events of one sort are distinguished at a time. */
const maxNames = 20;
const otherNames = '(others)';
/** The most counts at a time, so that a flood from very many agents does not fill the memory. */
const maxCounts = 4096;

/**
 * Counts events that come in floods, so that they take few rows: the first of each sort is written at once, and its repeats are written
 * later in one row. Events of one sort have the same token, agent, role, code, outcome and reporter.
 */
class MergedEvents {
  readonly #counts = new Map<string, CountedEvent & { count: number; firstAt: number }>();
  readonly #names = new Map<string, number>();

  /** Counts an event. Returns the events that must be written now. */
  add(event: AuditEvent): CountedEvent[] {
    const { kind, tokenId, agent, role, code, facts } = event;
    const sort = JSON.stringify([kind, tokenId, agent, role, code, facts?.outcome, facts?.reported_by]);
    const named = this.#named(event, sort);
    const key = `${sort}${named.name ?? ''}`;
    const counted = this.#counts.get(key);
    const { count = 1, at } = event;
    if (!counted) {
      const due = this.#counts.size >= maxCounts ? this.take(allKinds) : [];
      this.#names.set(sort, (this.#names.get(sort) ?? 0) + 1);
      this.#counts.set(key, { ...named, count: 0, firstAt: at });
      return [...due, named];
    }
    const firstAt = counted.count === 0 ? at : Math.min(counted.firstAt, at);
    Object.assign(counted, event, { name: named.name, count: counted.count + count, firstAt });
    return [];
  }

  /** Returns the counted events of these kinds, and begins anew. */
  take(kinds: readonly AuditKind[]): CountedEvent[] {
    const ended = [...this.#counts].filter(([, { kind }]) => kinds.includes(kind));
    for (const [key] of ended) this.#counts.delete(key);
    for (const sort of this.#names.keys()) if (kinds.includes(JSON.parse(sort)[0])) this.#names.delete(sort);
    return ended.flatMap(([, event]) => (event.count > 0 ? [event] : []));
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
