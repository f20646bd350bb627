import { setTimeout as delay } from 'node:timers/promises';
import { backoffMs } from '@signalbox/serving';

/** The waits before the stream is opened again. A server may ask for longer ones, but not for none. */
const reopening = { firstMs: 1_000, longestMs: 60_000, jitter: 0 };
/** A stream that was open for so many milliseconds makes the next wait the shortest one. */
const lastingMs = 30_000;

/**
 * The stream on which a server of the revisions up to 2025-11-25 announces changes, in one session. It is opened again until the server
 * refuses it for good, since a proxy may cut it each minute and a server may be away for longer. Workaround for the SDK 2.4.0, which tries
 * a first time once and further times twice.
 */
export class NoticeStream {
  readonly #now: () => number;
  readonly #onMissed: () => void;
  readonly #wait: typeof timer;
  #openings = 0;
  #failures = 0;
  #openedAt = Number.NEGATIVE_INFINITY;

  /** `onMissed` is called when it is open again: what the server announced in between is lost. `now` is in monotonic milliseconds. */
  constructor(now: () => number, onMissed: () => void, wait = timer) {
    this.#now = now;
    this.#onMissed = onMissed;
    this.#wait = wait;
  }

  /** Sends requests for the stream until one is answered with it or refused for good. Rejects if the server can't be reached. */
  async open(send: () => Promise<Response>, signal: AbortSignal | null | undefined): Promise<Response> {
    for (;;) {
      const response = await send();
      if (response.ok) return isStream(response) ? this.#opened(response) : this.#notOffered(response);
      if (!isPassing(response.status)) return response;
      await response.body?.cancel();
      await this.#wait(this.nextPauseMs(), signal);
      signal?.throwIfAborted();
    }
  }

  /** Returns the wait before the stream is opened again, in milliseconds. */
  nextPauseMs(): number {
    if (this.#now() - this.#openedAt >= lastingMs && this.#openings > 0) this.#failures = 0;
    return backoffMs(reopening, this.#failures++, 0);
  }

  #opened(response: Response): Response {
    this.#openedAt = this.#now();
    if (this.#openings++ > 0 || this.#failures > 0) this.#onMissed();
    return response;
  }

  /** Some web servers answer each GET with a page. */
  async #notOffered(response: Response): Promise<Response> {
    await response.body?.cancel();
    return new Response(null, { status: 405 });
  }
}

function isStream({ headers }: Response): boolean {
  return /^\s*text\/event-stream\b/i.test(headers.get('content-type') ?? '');
}

/** A proxy answers with these while the server is away; 409 comes from a server that has not noticed yet that the last stream broke. */
function isPassing(status: number): boolean {
  return [408, 409, 429].includes(status) || (status >= 500 && status !== 501);
}

async function timer(ms: number, signal: AbortSignal | null | undefined): Promise<void> {
  await delay(ms, undefined, { ref: false, ...(signal && { signal }) });
}
