import { isPrivileged } from '@signalbox/protocol';
import type { Caller } from './caller.ts';

/** A caller whose connection said `hello`. `connectedAt` is in epoch milliseconds. */
export interface ConnectedCaller {
  readonly caller: Caller;
  readonly connectedAt: number;
  /** The status that it announced last, or `undefined`. */
  status: unknown;
}

interface Entry extends ConnectedCaller {
  /** A unique key that orders callers by address. */
  key: string;
  /** Monotonic milliseconds. */
  announcedAt: number;
  end: (why: string) => void;
}

const announceEveryMs = 1000;

/** Keeps the callers that are connected, each with its status. */
export class ConnectedCallers {
  readonly #entries = new Map<Caller, Entry>();
  readonly #ofAgents = new Map<string, number>();
  readonly #ofMinters = new Map<string, number>();
  readonly #ofTokens = new Map<string, number>();
  readonly #ofRoles = new Map<string, number>();
  #unprivileged = 0;
  readonly #now: () => number;
  readonly #monotonic: () => number;
  readonly #newSerial: () => string;

  constructor({ now, monotonic }: { now: () => number; monotonic: () => number }, newSerial: () => string) {
    this.#now = now;
    this.#monotonic = monotonic;
    this.#newSerial = newSerial;
  }

  /** The number of callers that are connected. */
  get size(): number {
    return this.#entries.size;
  }

  /** The number of callers whose role is neither operator nor orchestrator. */
  get unprivileged(): number {
    return this.#unprivileged;
  }

  /** Returns the number of callers with tokens for an agent, or for the pattern of a minting token. */
  ofAgent(agent: string): number {
    return this.#ofAgents.get(agent) ?? 0;
  }

  /** Returns the number of callers whose tokens a minting token issued. */
  ofMinter(tokenId: string): number {
    return this.#ofMinters.get(tokenId) ?? 0;
  }

  /** Returns the number of callers that connected with a token. */
  ofToken(tokenId: string): number {
    return this.#ofTokens.get(tokenId) ?? 0;
  }

  /** Returns the number of callers of each role that has any. */
  roles(): Iterable<[role: string, callers: number]> {
    return this.#ofRoles;
  }

  /** Adds a caller. `end` closes its connection, and is called if its token is no longer good. */
  add(caller: Caller, end: (why: string) => void): void {
    this.#entries.set(caller, {
      caller,
      connectedAt: this.#now(),
      status: undefined,
      key: `${caller.sender.address} ${this.#newSerial()}`,
      announcedAt: Number.NEGATIVE_INFINITY,
      end,
    });
    this.#count(caller, 1);
  }

  /** Removes a caller whose connection is over. */
  remove(caller: Caller): void {
    if (this.#entries.delete(caller)) this.#count(caller, -1);
  }

  /** Sets the status of a caller, at most once a second. Returns 0 if it is set, else the milliseconds to wait. */
  announce(caller: Caller, status: unknown): number {
    const entry = this.#entries.get(caller);
    if (!entry) return 0;
    const now = this.#monotonic();
    const wait = entry.announcedAt + announceEveryMs - now;
    if (wait > 0) return wait;
    entry.announcedAt = now;
    entry.status = status;
    return 0;
  }

  /** Ends the connections of all callers for which `matches` returns true. They are told what `why` returns. */
  endWhere(matches: (caller: Caller) => boolean, why: (caller: Caller) => string): void {
    for (const { caller, end } of [...this.#entries.values()]) if (matches(caller)) end(why(caller));
  }

  /**
   * Returns at most `limit` of the callers that `isWanted` accepts after `cursor`, in the order of their addresses, and the cursor of the
   * next page if there is one.
   */
  page(
    cursor: string,
    limit: number,
    isWanted: (caller: Caller) => boolean,
  ): { connected: ConnectedCaller[]; cursor?: string } {
    const rest = [...this.#entries.values()].filter(({ key, caller }) => key > cursor && isWanted(caller));
    rest.sort((a, b) => (a.key < b.key ? -1 : 1));
    const connected = rest.slice(0, limit);
    const last = connected.at(-1);
    return rest.length > limit && last ? { connected, cursor: last.key } : { connected };
  }

  #count({ token, sender }: Caller, change: 1 | -1): void {
    if (!isPrivileged(sender.role)) this.#unprivileged += change;
    countIn(this.#ofRoles, sender.role, change);
    countIn(this.#ofAgents, token.agent, change);
    countIn(this.#ofTokens, token.id, change);
    if (token.parentId !== undefined) countIn(this.#ofMinters, token.parentId, change);
  }
}

function countIn(counts: Map<string, number>, key: string, change: 1 | -1): void {
  const count = (counts.get(key) ?? 0) + change;
  if (count > 0) counts.set(key, count);
  else counts.delete(key);
}
