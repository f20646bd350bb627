import { type Hold, type HoldsFrame, isOfSystem } from '@signalbox/protocol';
import { isOnAgent } from '@signalbox/protocol/internal';
import { type AuditEvent, type HoldRecord, hasExpired, type TokenStore } from '@signalbox/store';
import type { TokenRegistry } from '../auth/token-registry.ts';
import type { ExpiryClock } from '../core/time/expiry-clock.ts';

/** An agent under the role of one of its tokens. */
export interface Holder {
  readonly agent: string;
  readonly role: string;
}

/** A connection that gets the holds. */
export interface HoldsFollower {
  send(frame: HoldsFrame): void;
}

/** The dependencies of {@link Holds}. */
export interface HoldsDeps {
  store: Pick<TokenStore, 'holds' | 'addHold' | 'removeHold'>;
  tokens: Pick<TokenRegistry, 'isNeverHeld' | 'neverHeld'>;
  time: ExpiryClock;
  newId: () => string;
  /** Waits at most the given milliseconds. Tells whether the orchestrators of all other brokers have applied the holds. */
  confirmElsewhere?: (withinMs: number) => Promise<boolean>;
  /** The longest wait of the answer to a new hold for orchestrators that do not confirm it, in milliseconds; default 2 s. */
  confirmMs?: number;
}

const defaultConfirmMs = 2000;

/** A hold that begins or ends. */
export interface HoldChange {
  what: 'hold_placed' | 'hold_ended';
  hold: Hold;
}

/** A requested hold. `until` is in epoch milliseconds. */
export type NewHold = Pick<
  HoldRecord,
  'on' | 'name' | 'reason' | 'by' | 'tokenId' | 'until' | 'cancelsRunning'
>;

/**
 * Keeps the current holds, in step with the store: a change is on disk before anybody hears of it. Operators, approvers and orchestrators
 * are never held.
 */
export class Holds {
  readonly #deps: HoldsDeps;
  readonly #holds: Hold[] = [];
  /** The current holds, the oldest first. It is a plain field because it is read for each message. */
  readonly all: readonly Hold[] = this.#holds;
  readonly #listeners = new Set<(change: HoldChange | undefined) => void>();
  /** The connections that get the holds, with the version that each of them has applied. */
  readonly #followers = new Map<HoldsFollower, number>();
  #version = 0;
  /** The ids of holds that this broker has changed since it asked for the changes of others, which may be older. */
  #touched: Set<string> | undefined;
  /** The ids of holds that this broker is adding to the store. */
  readonly #placing = new Set<string>();
  /** Called when a follower has confirmed a version, or has left. */
  readonly #onConfirmed = new Set<() => void>();
  /** The agents that are never held, as the followers know them. */
  #toldNeverHeld = '';

  private constructor(deps: HoldsDeps) {
    this.#deps = deps;
  }

  /** Loads the holds from the store. */
  static async load(deps: HoldsDeps): Promise<Holds> {
    const holds = new Holds(deps);
    for (const record of await deps.store.holds()) holds.#holds.push(toHold(record));
    return holds;
  }

  /** Returns the oldest hold that is on an agent under a role. */
  on(holder: Holder): Hold | undefined {
    if (this.#holds.length === 0) return undefined;
    const hold = this.#holds.find((one) => isOnAgent(one, holder));
    return hold === undefined || this.isNeverHeld(holder) ? undefined : hold;
  }

  /** Tells whether no hold is ever on an agent under a role. */
  isNeverHeld({ agent, role }: Holder): boolean {
    return isOfSystem(role) || this.#deps.tokens.isNeverHeld(agent);
  }

  /**
   * Places a hold. Resolves when it is on disk and in force, and all connected orchestrators of all brokers have applied it. The wait for
   * orchestrators is short; `isConfirmed` is false if one of them did not confirm the hold in time. `eventOf` makes the event for the audit
   * log.
   */
  async place(
    asked: NewHold,
    eventOf: (hold: Hold) => AuditEvent,
  ): Promise<{ hold: Hold; isConfirmed: boolean }> {
    const { store, time, newId } = this.#deps;
    const record: HoldRecord = { ...asked, id: newId(), createdAt: time.now() };
    const hold = toHold(record);
    this.#touched?.add(hold.id);
    this.#placing.add(hold.id);
    try {
      await store.addHold(record, eventOf(hold));
    } finally {
      this.#placing.delete(hold.id);
    }
    this.#touched?.add(hold.id);
    this.#holds.push(hold);
    this.#changed({ what: 'hold_placed', hold });
    const { confirmElsewhere, confirmMs = defaultConfirmMs } = this.#deps;
    const confirmed = [this.confirmed(), confirmElsewhere?.(confirmMs) ?? true];
    return { hold, isConfirmed: (await Promise.all(confirmed)).every(Boolean) };
  }

  /**
   * Ends a hold, with the event for the audit log. Resolves when that is on disk and in force, or with false if the hold had ended before.
   */
  async end(hold: Hold, event: AuditEvent): Promise<boolean> {
    if (!this.#holds.includes(hold)) return false;
    this.#touched?.add(hold.id);
    const isFirst = await this.#deps.store.removeHold(hold.id, event);
    this.#touched?.add(hold.id);
    const at = this.#holds.indexOf(hold);
    if (at < 0) return false;
    this.#holds.splice(at, 1);
    this.#changed({ what: 'hold_ended', hold });
    return isFirst;
  }

  /** Notes that the changes of other brokers are being read. */
  beginChanges(): void {
    this.#touched = new Set(this.#placing);
  }

  /**
   * Applies the holds of the store after the changes that other brokers made since {@link beginChanges}. Returns false if the store may have
   * another state of a hold that this broker changed meanwhile: then the holds must be read again.
   */
  takeOver(records: readonly HoldRecord[]): boolean {
    const touched = this.#touched ?? new Set();
    const standing = new Set(records.map(({ id }) => id));
    for (const hold of [...this.#holds]) {
      if (standing.has(hold.id) || touched.has(hold.id)) continue;
      this.#holds.splice(this.#holds.indexOf(hold), 1);
      this.#changed({ what: 'hold_ended', hold });
    }
    for (const record of records) {
      if (touched.has(record.id) || this.#holds.some(({ id }) => id === record.id)) continue;
      const hold = toHold(record);
      this.#holds.push(hold);
      this.#changed({ what: 'hold_placed', hold });
    }
    return touched.size === 0;
  }

  /** Returns the holds whose time is over. */
  expired(): Hold[] {
    const time = this.#deps.time.look();
    return this.#holds.filter(
      ({ created_at: createdAt, until }) =>
        until !== undefined && hasExpired({ createdAt, expiresAt: until }, time),
    );
  }

  /** Calls a function after each change of the holds. If only their targets changed, it gets no hold. */
  onChange(listener: (change: HoldChange | undefined) => void): void {
    this.#listeners.add(listener);
  }

  /** Sends a connection the holds after each change from now on. Returns the first frame for it. */
  follow(follower: HoldsFollower): HoldsFrame {
    this.#followers.set(follower, -1);
    return this.#frame();
  }

  /** Notes the version of the holds that a connection has applied. */
  known(follower: HoldsFollower, version: number): void {
    if (!this.#followers.has(follower)) return;
    this.#followers.set(follower, version);
    for (const look of this.#onConfirmed) look();
  }

  /** Stops sending the holds to a connection. */
  unfollow(follower: HoldsFollower): void {
    this.#followers.delete(follower);
    for (const look of this.#onConfirmed) look();
  }

  /** Notes that tokens may have been issued, revoked or expired, so that other agents may be held now. Call it repeatedly. */
  tokensMayHaveChanged(): void {
    if (this.#holds.length > 0 && this.#neverHeld().join() !== this.#toldNeverHeld) this.#changed();
  }

  /** Waits until every follower has applied the current holds. Tells whether all did so in time. */
  async confirmed(): Promise<boolean> {
    const version = this.#version;
    const isConfirmed = (): boolean => [...this.#followers.values()].every((known) => known >= version);
    if (isConfirmed()) return true;
    const { promise, resolve } = Promise.withResolvers<void>();
    const look = (): void => {
      if (isConfirmed()) resolve();
    };
    const timer = setTimeout(resolve, this.#deps.confirmMs ?? defaultConfirmMs);
    this.#onConfirmed.add(look);
    await promise;
    this.#onConfirmed.delete(look);
    clearTimeout(timer);
    return isConfirmed();
  }

  #changed(change?: HoldChange): void {
    this.#version++;
    for (const listener of this.#listeners) listener(change);
    const frame = this.#frame();
    for (const follower of this.#followers.keys()) follower.send(frame);
  }

  #frame(): HoldsFrame {
    const approvers = this.#holds.length > 0 ? this.#neverHeld() : [];
    this.#toldNeverHeld = approvers.join();
    return { type: 'holds', version: this.#version, holds: [...this.#holds], approvers };
  }

  #neverHeld(): string[] {
    return [...this.#deps.tokens.neverHeld()].sort();
  }
}

/** Converts a record to its hold. A damaged row counts as a hold on everything, since none of its fields is reliable. */
function toHold(record: HoldRecord): Hold {
  const { id, on, name, reason, by, tokenId, createdAt, until, cancelsRunning, damaged } = record;
  if (damaged)
    return { id, on: 'all', reason: 'unknown', by: 'unknown', token_id: '', created_at: 0, damaged };
  return {
    ...{ id, on, reason, by, token_id: tokenId, created_at: createdAt },
    ...(on !== 'all' && { name }),
    ...(until !== undefined && { until }),
    ...(cancelsRunning && { cancel_running: true as const }),
  };
}
