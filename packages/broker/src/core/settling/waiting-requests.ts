import { type ExpiryTime, hasExpired } from '@signalbox/store';

/** A request that waits to be pushed. `createdAt` and `expiresAt` are in epoch milliseconds. */
export interface WaitingRequest {
  inbox: string;
  seq: number;
  createdAt: number;
  expiresAt: number;
  /** True if a consumer had it before. */
  wasPushed: boolean;
}

const bucketMs = 1000;
/** The farthest deadline that is remembered here, from now on in milliseconds. Later ones are left to `Deadlines.sweep`. */
const horizonMs = 10 * 60_000;
const maxRequests = 100_000;

/**
 * Remembers the deadlines of requests that wait to be pushed, and whether a consumer had them before. Their number is bounded.
 * `Deadlines.sweep` finds the others, which may have been pushed.
 */
export class WaitingRequests {
  readonly #bySeq = new Map<number, WaitingRequest>();
  readonly #buckets = new Map<number, Set<WaitingRequest>>();

  /** Adds a request. `now` is in epoch milliseconds. */
  add(request: WaitingRequest, now: number): void {
    this.remove(request.seq);
    if (this.#bySeq.size >= maxRequests) return;
    this.#bySeq.set(request.seq, request);
    if (request.expiresAt - now > horizonMs) return;
    const number = bucketOf(request);
    const bucket = this.#buckets.get(number) ?? new Set();
    this.#buckets.set(number, bucket.add(request));
  }

  /** Removes a request that no longer waits, and returns it. */
  remove(seq: number): WaitingRequest | undefined {
    const request = this.#bySeq.get(seq);
    if (!request) return undefined;
    this.#bySeq.delete(seq);
    const number = bucketOf(request);
    const bucket = this.#buckets.get(number);
    if (bucket?.delete(request) && bucket.size === 0) this.#buckets.delete(number);
    return request;
  }

  /** Returns at most `limit` of the expired requests. They are not removed. */
  expired(time: ExpiryTime, limit: number): WaitingRequest[] {
    const expired: WaitingRequest[] = [];
    for (const [number, bucket] of this.#buckets) {
      if (number > time.latest) continue;
      for (const request of bucket) {
        if (expired.length >= limit) return expired;
        if (hasExpired(request, time)) expired.push(request);
      }
    }
    return expired;
  }
}

function bucketOf({ expiresAt }: WaitingRequest): number {
  return expiresAt - (expiresAt % bucketMs);
}
