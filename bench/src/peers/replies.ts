import type { Body } from './peer.ts';

/** The requests that wait for replies, for clients whose library has no requests. */
export class Replies {
  readonly #waiting = new Map<number, (reply: Body) => void>();

  wait(n: number): Promise<Body> {
    return new Promise((resolve) => this.#waiting.set(n, resolve));
  }

  take(reply: Body): void {
    this.#waiting.get(reply.n)?.(reply);
    this.#waiting.delete(reply.n);
  }
}
