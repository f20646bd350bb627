/** A request that waits to be pushed. */
export interface WaitingRequest {
  inbox: string;
  seq: number;
  expiresAt: number;
  /** A consumer had it before. */
  wasPushed: boolean;
}

const bucketMs = 1000;
/** Deadlines further away are left to the sweep, which is in no hurry then. */
const horizonMs = 10 * 60_000;
const limit = 100_000;

/**
 * Remembers the requests of this run that wait to be pushed: when they expire, and whether a consumer had them before.
 * Bounded; a request that is not here is found by the sweep, and may have been pushed.
 */
export class WaitingRequests {
  readonly #bySeq = new Map<number, WaitingRequest>();
  readonly #buckets = new Map<number, Set<WaitingRequest>>();

  /** A request waits from now on. */
  add(request: WaitingRequest, now: number): void {
    this.take(request.seq);
    if (this.#bySeq.size >= limit) return;
    this.#bySeq.set(request.seq, request);
    if (request.expiresAt - now > horizonMs) return;
    const number = bucketOf(request);
    const bucket = this.#buckets.get(number) ?? new Set();
    this.#buckets.set(number, bucket.add(request));
  }

  /** Removes a request that no longer waits. */
  take(seq: number): WaitingRequest | undefined {
    const request = this.#bySeq.get(seq);
    if (!request) return undefined;
    this.#bySeq.delete(seq);
    const number = bucketOf(request);
    const bucket = this.#buckets.get(number);
    if (bucket?.delete(request) && bucket.size === 0) this.#buckets.delete(number);
    return request;
  }

  /** At most `most` of the requests that have expired. */
  due(now: number, most: number): WaitingRequest[] {
    const due: WaitingRequest[] = [];
    for (const [number, bucket] of this.#buckets) {
      if (number > now) continue;
      for (const request of bucket) {
        if (due.length >= most) return due;
        if (request.expiresAt <= now) due.push(request);
      }
    }
    return due;
  }
}

function bucketOf({ expiresAt }: WaitingRequest): number {
  return expiresAt - (expiresAt % bucketMs);
}
