import type { Caller } from './caller.ts';

/** A connection that said hello, as others may see it. */
export interface ConnectedCaller {
  readonly caller: Caller;
  readonly connectedAt: number;
  /** The status that it announced last. */
  status: unknown;
}

interface Entry extends ConnectedCaller {
  /** Orders connections by address; unique. */
  key: string;
  announcedAt: number;
  end: (why: string) => void;
}

const announceEveryMs = 1000;

/** Keeps the connections that said hello: who is there, since when, and with what status. */
export class ConnectedCallers {
  readonly #entries = new Map<Caller, Entry>();
  readonly #now: () => number;
  readonly #newSerial: () => string;

  constructor(now: () => number, newSerial: () => string) {
    this.#now = now;
    this.#newSerial = newSerial;
  }

  get size(): number {
    return this.#entries.size;
  }

  /** `end` is called where its token is no longer good. */
  add(caller: Caller, end: (why: string) => void): void {
    this.#entries.set(caller, {
      caller,
      connectedAt: this.#now(),
      status: undefined,
      key: `${caller.sender.address} ${this.#newSerial()}`,
      announcedAt: Number.NEGATIVE_INFINITY,
      end,
    });
  }

  remove(caller: Caller): void {
    this.#entries.delete(caller);
  }

  /** Sets what others see of a caller, at most once a second. Returns the milliseconds to wait, or 0 if it is set. */
  announce(caller: Caller, status: unknown): number {
    const entry = this.#entries.get(caller);
    if (!entry) return 0;
    const now = this.#now();
    const wait = entry.announcedAt + announceEveryMs - now;
    if (wait > 0) return wait;
    entry.announcedAt = now;
    entry.status = status;
    return 0;
  }

  /** Ends every connection whose token is no longer good. */
  endWhere(isOver: (caller: Caller) => boolean, why: string): void {
    for (const { caller, end } of [...this.#entries.values()]) if (isOver(caller)) end(why);
  }

  /** Connections after `cursor` in address order, at most `limit`. The cursor returned leads to the next page. */
  page(cursor: string, limit: number): { connected: ConnectedCaller[]; cursor?: string } {
    const rest = [...this.#entries.values()].filter(({ key }) => key > cursor);
    rest.sort((a, b) => (a.key < b.key ? -1 : 1));
    const connected = rest.slice(0, limit);
    const last = connected.at(-1);
    return rest.length > limit && last ? { connected, cursor: last.key } : { connected };
  }
}
