import { AsyncLocalStorage } from 'node:async_hooks';
import type { RequestId } from '@modelcontextprotocol/client';

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

  /** Records that no more data comes for a request. */
  ended(id: RequestId): void {
    this.#open.delete(id);
  }

  /** Ends the HTTP request of a request that its caller has given up. */
  withdraw(id: RequestId): void {
    const open = this.#open.get(id);
    this.#open.delete(id);
    open?.withdraw();
  }
}
