import type { Limits } from '@signalbox/protocol';
import { Budget } from '@signalbox/serving';
import { RateLimit } from '../limits/rate-limit.ts';

/** The most addresses with separate rates. Further ones share one. */
const maxAddresses = 4096;
/** The seconds' worth of the rates of an address, and of the bytes of all addresses, that may be used at once. */
const burstSeconds = { requests: 2, bytes: 1, allBytes: 0.25 };

/** The use of one address, and its rates. */
interface Client {
  readonly requests: RateLimit;
  readonly bytes: Budget;
  bodies: number;
}

/** A request whose body may be read. */
export interface Slot extends Disposable {
  /** Counts bytes that were read. Returns the milliseconds to wait before more are read, or 0. */
  read(bytes: number): number;
}

/** The reason why a request gets no slot, with the setting that limits it. */
export interface NoSlot {
  /** True if the client itself uses too much, and false if all clients together do. */
  isOwn: boolean;
  message: string;
  retryAfterMs: number;
}

/** Limits clients that have not proved their identity: requests and bytes of each address, and simultaneous reads of bodies. */
export class ClientLimits {
  readonly #limits: Limits['webhooks'];
  readonly #monotonic: () => number;
  readonly #clients = new Map<string, Client>();
  readonly #bodiesOfHook = new Map<string, number>();
  readonly #bytes: Budget;
  #bodies = 0;

  constructor(limits: Limits['webhooks'], monotonic: () => number) {
    this.#limits = limits;
    this.#monotonic = monotonic;
    const { bytesPerSecond } = limits;
    this.#bytes = new Budget(bytesPerSecond, bytesPerSecond * burstSeconds.allBytes, monotonic());
  }

  /** The requests that have a slot. */
  get bodies(): number {
    return this.#bodies;
  }

  /** Counts a request of an address. Returns the reason if it is refused because the address sends too many. */
  count(address: string): NoSlot | undefined {
    const waitMs = this.#client(address).requests.take(this.#monotonic());
    if (waitMs === 0) return undefined;
    const most = `${this.#limits.requestsPerAddress} requests a second`;
    return full(true, `at most ${most} from one address`, 'requestsPerAddress', waitMs);
  }

  /** Gives a request to a webhook a slot until the slot is disposed. */
  take(address: string, hook: string): Slot | NoSlot {
    const { bodies, bodiesPerHook, bodiesPerAddress } = this.#limits;
    const client = this.#client(address);
    const ofHook = this.#bodiesOfHook.get(hook) ?? 0;
    if (client.bodies >= bodiesPerAddress)
      return full(
        true,
        `at most ${bodiesPerAddress} requests at a time from one address`,
        'bodiesPerAddress',
      );
    if (ofHook >= bodiesPerHook)
      return full(false, `at most ${bodiesPerHook} requests at a time for one webhook`, 'bodiesPerHook');
    if (this.#bodies >= bodies)
      return full(false, `at most ${bodies} requests at a time for all webhooks`, 'bodies');
    client.bodies++;
    this.#bodies++;
    this.#bodiesOfHook.set(hook, ofHook + 1);
    return {
      read: (bytes) => {
        client.bytes.spend(bytes);
        this.#bytes.spend(bytes);
        if (!client.bytes.isOverdrawn && !this.#bytes.isOverdrawn) return 0;
        const now = this.#monotonic();
        return Math.max(client.bytes.waitMs(now), this.#bytes.waitMs(now));
      },
      [Symbol.dispose]: () => {
        client.bodies--;
        this.#bodies--;
        const left = this.#bodiesOfHook.get(hook)! - 1;
        if (left > 0) this.#bodiesOfHook.set(hook, left);
        else this.#bodiesOfHook.delete(hook);
      },
    };
  }

  #client(address: string): Client {
    const known = this.#clients.get(address);
    if (known) return known;
    if (this.#clients.size >= maxAddresses) this.#prune();
    if (this.#clients.size >= maxAddresses && address !== '') return this.#client('');
    const now = this.#monotonic();
    const { requestsPerAddress, bytesPerAddress } = this.#limits;
    const client = {
      requests: new RateLimit(requestsPerAddress, requestsPerAddress * burstSeconds.requests, now),
      bytes: new Budget(bytesPerAddress, bytesPerAddress * burstSeconds.bytes, now),
      bodies: 0,
    };
    this.#clients.set(address, client);
    return client;
  }

  #prune(): void {
    const now = this.#monotonic();
    for (const [address, { requests, bytes, bodies }] of this.#clients) {
      if (bodies === 0 && requests.isFull(now) && bytes.isFull(now)) this.#clients.delete(address);
    }
  }
}

function full(isOwn: boolean, most: string, setting: keyof Limits['webhooks'], retryAfterMs = 1000): NoSlot {
  return { isOwn, message: `${most}; see broker.limits.webhooks.${setting}`, retryAfterMs };
}
