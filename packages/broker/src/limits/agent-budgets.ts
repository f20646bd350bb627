import { type ClientFrame, frameCosts, furtherCosts, type Limits } from '@signalbox/protocol';
import { figure } from '@signalbox/protocol/internal';
import { Budget, type SliceReader, Slices, unitsPerSlice } from '@signalbox/serving';
import type { TokenRecord } from '@signalbox/store';
import { RateLimit } from './rate-limit.ts';
import type { RoleLimits } from './role-limits.ts';

/** The time between two notices to one agent that it is over its budget, in milliseconds. */
const noticeEveryMs = 10_000;

/** The bytes whose reading, or whose handling as a whole message, takes about one unit of a slice. */
const bytesPerUnit = 1024;

/** Rates that are counted together. */
interface Rates {
  readonly messages: RateLimit;
  readonly frames: Budget;
  readonly bytes: Budget;
}

function ratesOf({ rates }: Limits, times: number, now: number): Rates {
  return {
    messages: new RateLimit(rates.messages * times, rates.messagesBurst * times, now),
    frames: new Budget(rates.frames * times, rates.framesBurst * times, now),
    bytes: new Budget(rates.bytes * times, rates.bytesBurst * times, now),
  };
}

/** The rates and slices that all agents share whose tokens one minting token issued, besides those of each agent. */
interface Fleet extends Rates {
  readonly slices: Slices;
  /** The number of open connections of its agents. */
  connections: number;
}

/**
 * The budget of one agent, over all its connections and tokens. If a minting token issued its token, its use also counts for its fleet:
 * otherwise the holder of the minting token could make agents, each with a budget of its own.
 */
export class AgentBudget {
  /** The slices of the event loop that its connections share. They are also slices of its fleet, if it has one. */
  readonly slices: Slices;
  /** The number of its open connections. */
  connections = 0;
  readonly #role: string;
  readonly #own: Rates;
  readonly #fleet: Fleet | undefined;
  #noticedAt = Number.NEGATIVE_INFINITY;

  constructor(role: string, limits: Limits, fleet: Fleet | undefined, now: number) {
    this.#role = role;
    this.#own = ratesOf(limits, 1, now);
    this.#fleet = fleet;
    this.slices = new Slices(unitsPerSlice, fleet?.slices);
  }

  /** True if its connections may have to wait; {@link waitMs} returns the time. */
  get isOverdrawn(): boolean {
    const fleet = this.#fleet;
    return (
      this.#own.frames.isOverdrawn ||
      this.#own.bytes.isOverdrawn ||
      (fleet !== undefined && (fleet.frames.isOverdrawn || fleet.bytes.isOverdrawn))
    );
  }

  /** Returns the milliseconds until frames of its connections are handled again, or 0. */
  waitMs(now: number): number {
    const { frames, bytes } = this.#own;
    const own = Math.max(frames.waitMs(now), bytes.waitMs(now));
    return this.#fleet ? Math.max(own, this.#fleet.frames.waitMs(now), this.#fleet.bytes.waitMs(now)) : own;
  }

  /**
   * Counts a frame, and the WebSocket message of `messageBytes` that came with it, if there is one. Without a frame, counts only the
   * message. Connections of an agent over its budget are read later.
   */
  charge(frame: ClientFrame | undefined, messageBytes: number | undefined): void {
    let cost = frame === undefined ? 0 : frameCosts[frame.type];
    if (frame && 'seqs' in frame) cost += frame.seqs.length * furtherCosts.seq;
    if (messageBytes !== undefined) cost += furtherCosts.webSocketMessage;
    this.#spend(cost, (messageBytes ?? 0) / bytesPerUnit);
  }

  /** Counts a cost that shows only while a frame is handled. */
  spendFrames(cost: number): void {
    this.#spend(cost, 0);
  }

  /** Counts bytes that were read from a connection before they are a whole message: a body that has half arrived has cost half. */
  wasRead(connection: SliceReader, bytes: number): void {
    this.spendBytes(bytes);
    this.slices.wasRead(connection, bytes / bytesPerUnit);
  }

  /** Counts bytes that were read. Connections of an agent over them are read later. */
  spendBytes(bytes: number): void {
    this.#own.bytes.spend(bytes);
    this.#fleet?.bytes.spend(bytes);
  }

  /**
   * Counts a message, and returns `undefined`, if it is allowed now. Otherwise returns the milliseconds to wait, and the exceeded rate with
   * the setting to raise.
   */
  takeMessage(now: number, limits: RoleLimits): { waitMs: number; excess: Excess } | undefined {
    const ofOwn = this.#own.messages.take(now);
    if (ofOwn > 0) return { waitMs: ofOwn, excess: this.#excess('messages', false, limits) };
    const ofFleet = this.#fleet?.messages.take(now) ?? 0;
    return ofFleet > 0 ? { waitMs: ofFleet, excess: this.#excess('messages', true, limits) } : undefined;
  }

  /** Counts messages that have been sent already, by another way. */
  countMessages(count: number, now: number): void {
    this.#own.messages.count(count, now);
    this.#fleet?.messages.count(count, now);
  }

  /** Describes the overdrawn budget. */
  overdraft(limits: RoleLimits): Excess {
    if (this.#own.bytes.isOverdrawn) return this.#excess('bytes', false, limits);
    if (this.#own.frames.isOverdrawn) return this.#excess('frames', false, limits);
    return this.#excess(this.#fleet?.bytes.isOverdrawn ? 'bytes' : 'frames', true, limits);
  }

  /** Tells whether a notice that it is over its budget is due. If so, the notice counts as sent. */
  isNoticeDue(now: number): boolean {
    if (now - this.#noticedAt < noticeEveryMs) return false;
    this.#noticedAt = now;
    return true;
  }

  /** Counts a new connection. */
  take(): void {
    this.connections++;
    if (this.#fleet) this.#fleet.connections++;
  }

  /** Counts a connection that has ended. */
  giveBack(): void {
    this.connections--;
    if (this.#fleet) this.#fleet.connections--;
  }

  /** Tells whether it could be forgotten and made again without a difference. */
  isUnused(now: number): boolean {
    return this.connections === 0 && now - this.#noticedAt >= noticeEveryMs && isFull(this.#own, now);
  }

  #spend(cost: number, furtherUnits: number): void {
    this.#own.frames.spend(cost);
    this.#fleet?.frames.spend(cost);
    this.slices.spend(cost + furtherUnits);
  }

  #excess(of: 'messages' | 'bytes' | 'frames', ofFleet: boolean, limits: RoleLimits): Excess {
    const { rates } = limits.of(this.#role);
    const what = of === 'frames' ? 'units of frames' : of;
    const rate = figure(rates[of] * (ofFleet ? rates.perMinter : 1));
    const whose = ofFleet ? `all agents of one minting token with role` : 'role';
    return {
      what: `more than ${rate} ${what} a second for ${whose} '${this.#role}'`,
      setting: limits.setting(this.#role, 'rates', ofFleet ? 'perMinter' : of),
    };
  }
}

/** An exceeded rate, as in `more than 2,000 messages a second for role 'worker'`, and the path of the setting to raise. */
export interface Excess {
  what: string;
  setting: string;
}

function isFull({ messages, frames, bytes }: Rates, now: number): boolean {
  return messages.isFull(now) && frames.isFull(now) && bytes.isFull(now);
}

/**
 * Keeps the budget of every connected agent, and of disconnected agents whose budget is not full: a new connection does not refill it. An
 * agent whose tokens have several roles or come from several minting tokens has a budget for each.
 */
export class AgentBudgets {
  readonly #budgets = new Map<string, AgentBudget>();
  readonly #fleets = new Map<string, Fleet>();
  readonly #limits: RoleLimits;
  readonly #monotonic: () => number;

  constructor(limits: RoleLimits, monotonic: () => number) {
    this.#limits = limits;
    this.#monotonic = monotonic;
  }

  /** The number of kept budgets, including those of fleets. */
  get size(): number {
    return this.#budgets.size + this.#fleets.size;
  }

  /** Returns the budget of the agent of a token. */
  of({ agent, role, parentId }: Pick<TokenRecord, 'agent' | 'role' | 'parentId'>): AgentBudget {
    const key = `${agent} ${role} ${parentId ?? ''}`;
    const known = this.#budgets.get(key);
    if (known) return known;
    const fleet = parentId === undefined ? undefined : this.#fleet(parentId, role);
    const budget = new AgentBudget(role, this.#limits.of(role), fleet, this.#monotonic());
    this.#budgets.set(key, budget);
    return budget;
  }

  /** Forgets budgets that are unused and full again. */
  prune(): void {
    const now = this.#monotonic();
    for (const [key, budget] of this.#budgets) if (budget.isUnused(now)) this.#budgets.delete(key);
    for (const [key, fleet] of this.#fleets) {
      if (fleet.connections === 0 && isFull(fleet, now)) this.#fleets.delete(key);
    }
  }

  #fleet(parentId: string, role: string): Fleet {
    const key = `${parentId} ${role}`;
    const known = this.#fleets.get(key);
    if (known) return known;
    const limits = this.#limits.of(role);
    const { perMinter } = limits.rates;
    const rates = ratesOf(limits, perMinter, this.#monotonic());
    const fleet = { ...rates, slices: new Slices(unitsPerSlice * perMinter), connections: 0 };
    this.#fleets.set(key, fleet);
    return fleet;
  }
}
