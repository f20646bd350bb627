import { AsyncLocalStorage } from 'node:async_hooks';
import type { RequestId } from '@modelcontextprotocol/client';

/** The most streams that stay open after their answers. A server should end them. */
const maxAnswered = 8;

/** A JSON-RPC request whose answer may still come over HTTP. */
export interface UnansweredRequest {
  readonly id: RequestId;
  readonly method: string;
  /** True once its caller has given it up. */
  readonly isWithdrawn: boolean;
  /** True once its answer has begun to come as a stream. The reader of the HTTP response sets it. */
  isStreamed: boolean;
  /** Sets the function that ends the HTTP request of this one. */
  onWithdrawn(end: () => void): void;
}

/**
 * The JSON-RPC requests of one session that wait for an answer over HTTP. It tells the `fetch` below the SDK's transport which of them it
 * works for. Workaround for the SDK 2.4.0: on connections of revisions up to 2025-11-25 it leaves the HTTP request of a call open after the
 * caller has given the call up, and nothing else would end it.
 */
export class UnansweredRequests {
  readonly #context = new AsyncLocalStorage<UnansweredRequest | undefined>();
  readonly #open = new Map<RequestId, { request: UnansweredRequest; withdraw: () => void }>();
  /** The open ones whose answers have come, the oldest first. */
  readonly #answered = new Set<RequestId>();

  /** The request for which the running code sends or reads, or `undefined` outside of a request. */
  get current(): UnansweredRequest | undefined {
    return this.#context.getStore();
  }

  /**
   * Sends a request. It is open until `send` ends or, if its answer is streamed, until {@link ended}.
   */
  async run(
    { id, method }: Pick<UnansweredRequest, 'id' | 'method'>,
    send: () => Promise<void>,
  ): Promise<void> {
    let isWithdrawn = false;
    let end = (): void => {};
    const request: UnansweredRequest = {
      id,
      method,
      isStreamed: false,
      get isWithdrawn() {
        return isWithdrawn;
      },
      onWithdrawn: (given) => {
        end = given;
      },
    };
    const withdraw = (): void => {
      isWithdrawn = true;
      end();
    };
    this.#open.set(id, { request, withdraw });
    try {
      await this.#context.run(request, send);
    } finally {
      if (!request.isStreamed) this.#open.delete(id);
    }
  }

  /** Runs `send` outside of any request, for a message that is not a request. */
  outside(send: () => Promise<void>): Promise<void> {
    return this.#context.run(undefined, send);
  }

  /**
   * Records that the answer to a request has come. Returns false if nobody waits for one. Streams that their server leaves open after the
   * answer are ended here if there are too many.
   */
  answered(id: RequestId): boolean {
    const open = this.#open.get(id);
    if (!open || this.#answered.has(id)) return false;
    if (open.request.isStreamed) this.#answered.add(id);
    const [oldest] = this.#answered;
    if (this.#answered.size > maxAnswered) this.withdraw(oldest!);
    return true;
  }

  /** Records that no more data comes for a request. Returns true if its answer is still waited for. */
  ended(id: RequestId): boolean {
    const isAnswered = this.#answered.delete(id);
    return this.#open.delete(id) && !isAnswered;
  }

  /** Ends the HTTP request of a request that its caller has given up. */
  withdraw(id: RequestId): void {
    const open = this.#open.get(id);
    this.ended(id);
    open?.withdraw();
  }
}
