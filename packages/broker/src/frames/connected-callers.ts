import { isOfSystem } from '@signalbox/protocol';
import type { PresencePort } from '@signalbox/store';
import type { Caller } from './caller.ts';
import type { FailedPrograms } from './failed-programs.ts';

/** A caller whose connection said `hello`. `connectedAt` is in epoch milliseconds. */
export interface ConnectedCaller {
  readonly caller: Caller;
  /** A unique key that orders callers by address. */
  readonly key: string;
  readonly connectedAt: number;
  /** The status that it announced last, or `undefined`. */
  status: unknown;
}

interface Entry extends ConnectedCaller {
  /** The time of that announcement, in monotonic milliseconds. */
  announcedAt: number;
  /** True if it has announced that its program failed. */
  hasFailed?: true;
  end: (why: string) => void;
}

const announceEveryMs = 1000;
/** The most agents whose last connection is remembered. */
const maxLastSeen = 10_000;

/** The dependencies of {@link ConnectedCallers}. */
export interface ConnectedCallersDeps {
  /** Tells other brokers about the connected callers. */
  presence: Pick<PresencePort, 'present' | 'absent'>;
  programs: Pick<FailedPrograms, 'failed' | 'works'>;
  newSerial: () => string;
  /** Returns epoch milliseconds. */
  now: () => number;
  /** Returns monotonic milliseconds. */
  monotonic: () => number;
}

/** Keeps the connected callers, each with its status. */
export class ConnectedCallers {
  readonly #entries = new Map<Caller, Entry>();
  readonly #ofAgents = new Map<string, number>();
  readonly #ofMinters = new Map<string, number>();
  readonly #ofTokens = new Map<string, number>();
  readonly #ofRoles = new Map<string, number>();
  /** The times at which agents were last connected. */
  readonly #lastSeen = new Map<string, number>();
  #unprivileged = 0;
  readonly #deps: ConnectedCallersDeps;

  constructor(deps: ConnectedCallersDeps) {
    this.#deps = deps;
  }

  /** The number of connected callers. */
  get size(): number {
    return this.#entries.size;
  }

  /** The number of connected callers whose role is neither operator nor orchestrator. */
  get unprivileged(): number {
    return this.#unprivileged;
  }

  /** Returns the number of callers with tokens for an agent, or for the pattern of a minting token. */
  ofAgent(agent: string): number {
    return this.#ofAgents.get(agent) ?? 0;
  }

  /** Returns since when an agent is not connected, in epoch milliseconds; `undefined` if it is, or that is not known any more. */
  offlineSince(agent: string): number | undefined {
    return this.#ofAgents.has(agent) ? undefined : this.#lastSeen.get(agent);
  }

  /** Returns the number of callers whose tokens a minting token issued. */
  ofMinter(tokenId: string): number {
    return this.#ofMinters.get(tokenId) ?? 0;
  }

  /** Returns the number of callers that connected with a token. */
  ofToken(tokenId: string): number {
    return this.#ofTokens.get(tokenId) ?? 0;
  }

  /** Returns each role with connected callers, and their number. */
  roles(): Iterable<[role: string, callers: number]> {
    return this.#ofRoles;
  }

  /** Adds a caller. `end` closes its connection, and is called if its token is no longer valid. */
  add(caller: Caller, end: (why: string) => void): void {
    const { now, newSerial } = this.#deps;
    const entry: Entry = {
      caller,
      connectedAt: now(),
      status: undefined,
      key: `${caller.sender.address} ${newSerial()}`,
      announcedAt: Number.NEGATIVE_INFINITY,
      end,
    };
    this.#entries.set(caller, entry);
    this.#count(caller, 1);
    this.#tellOthers(entry);
  }

  /** Removes a caller whose connection is over. */
  remove(caller: Caller): void {
    const entry = this.#entries.get(caller);
    if (!entry) return;
    this.#entries.delete(caller);
    this.#count(caller, -1);
    this.#noteLastSeen(caller.sender.agent);
    this.#deps.presence.absent(entry.key);
  }

  #noteLastSeen(agent: string): void {
    this.#lastSeen.delete(agent);
    this.#lastSeen.set(agent, this.#deps.now());
    if (this.#lastSeen.size <= maxLastSeen) return;
    const [oldest] = this.#lastSeen.keys();
    this.#lastSeen.delete(oldest!);
  }

  /**
   * Sets the status of a caller, at most once a second, and notes how its program failed. Returns the status before it, and the
   * milliseconds to wait if it was too early.
   */
  announce(caller: Caller, status: unknown, failed?: string): { retryAfterMs: number; before: unknown } {
    const entry = this.#entries.get(caller);
    if (!entry) return { retryAfterMs: 0, before: status };
    const { status: before } = entry;
    const now = this.#deps.monotonic();
    const retryAfterMs = entry.announcedAt + announceEveryMs - now;
    if (retryAfterMs > 0 && (failed === undefined || entry.hasFailed)) return { retryAfterMs, before };
    const { agent, role } = caller.sender;
    if (failed === undefined) this.#deps.programs.works(agent, entry.connectedAt);
    else {
      entry.hasFailed = true;
      this.#deps.programs.failed(agent, role, failed);
    }
    entry.announcedAt = now;
    entry.status = status;
    this.#tellOthers(entry);
    return { retryAfterMs: 0, before };
  }

  /** Ends the connections of all callers for which `matches` returns true. Each is told the text of `why`. */
  endWhere(matches: (caller: Caller) => boolean, why: (caller: Caller) => string): void {
    for (const { caller, end } of [...this.#entries.values()]) if (matches(caller)) end(why(caller));
  }

  /** Returns at most `limit` of the callers after a key that `isWanted` accepts, in the order of their keys. */
  behind(after: string, limit: number, isWanted: (caller: Caller) => boolean): ConnectedCaller[] {
    const rest = [...this.#entries.values()].filter(({ key, caller }) => key > after && isWanted(caller));
    return rest.sort((a, b) => (a.key < b.key ? -1 : 1)).slice(0, limit);
  }

  /** Tells other brokers about a caller. A caller that only issues tokens is in no list. */
  #tellOthers({ key, caller, connectedAt, status }: Entry): void {
    const { agent, address, role } = caller.sender;
    if (!caller.mintsOnly) this.#deps.presence.present({ key, agent, address, role, connectedAt, status });
  }

  #count({ token, sender }: Caller, change: 1 | -1): void {
    if (!isOfSystem(sender.role)) this.#unprivileged += change;
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
