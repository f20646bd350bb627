import type {
  JSONRPCMessage,
  JSONRPCRequest,
  Transport,
  TransportSendOptions,
} from '@modelcontextprotocol/server';
import type { Exchange, HttpReply, RequestId } from './http-reply.ts';

/**
 * One HTTP session of the revisions up to 2025-11-25 as a transport of the SDK's server.
 *
 * It stands in place of the SDK's `WebStandardStreamableHTTPServerTransport`, which answers either always with JSON or always with
 * events. This one answers with JSON until there is something to tell before the answer: a client that waits for JSON notices
 * at once when the face dies, one that waits for events may not. Checked with SDK 2.4.0; look again with the next version.
 */
export class SessionTransport implements Transport {
  onmessage?: Transport['onmessage'];
  onclose?: () => void;
  onerror?: (error: Error) => void;
  readonly sessionId: string;
  /** The requests that are not answered yet. */
  readonly #exchanges = new Map<RequestId, Exchange>();
  /** The stream for messages that belong to no request. */
  #stream: HttpReply | undefined;
  /** The announcements for which there was no stream, each once: of lists, and of resources that the client follows. */
  readonly #missed = new Map<string, JSONRPCMessage>();
  readonly #onAnswered: () => void;
  #closed = false;

  /** `onAnswered` is called when a request was answered. */
  constructor(sessionId: string, onAnswered: () => void) {
    this.sessionId = sessionId;
    this.#onAnswered = onAnswered;
  }

  /** True while a request runs or the client listens. */
  get isBusy(): boolean {
    return this.#exchanges.size > 0 || this.#stream !== undefined;
  }

  async start(): Promise<void> {}

  /** Passes the request that begins the session to the server. Resolves with the answer, if there is one. */
  begin(initialize: JSONRPCRequest): Promise<JSONRPCMessage | undefined> {
    return new Promise((resolve) => {
      const exchange = { tell: () => false, json: resolve, end: () => resolve(undefined) };
      this.#exchanges.set(initialize.id, exchange);
      this.onmessage?.(initialize);
    });
  }

  /** Passes a posted message to the server. A client that hangs up cancels its request. */
  post(message: JSONRPCMessage, reply: HttpReply): void {
    if (!('method' in message && 'id' in message)) {
      this.onmessage?.(message);
      this.#dropCancelled(message);
      reply.end();
      return;
    }
    const { id } = message;
    if (this.#exchanges.has(id)) {
      const text = `a request with the id ${JSON.stringify(id)} is running in this session already`;
      reply.refuse({ status: 400, code: -32600, message: text }, id);
      return;
    }
    if (reply.isClosed) return;
    this.#exchanges.set(id, reply);
    reply.onHangUp = () => this.#cancel(id, reply);
    this.onmessage?.(message);
  }

  /** Opens the stream for messages that belong to no request. A new one replaces the one before. */
  listen(reply: HttpReply): void {
    this.#stream?.end();
    this.#stream = reply;
    reply.onHangUp = () => {
      if (this.#stream === reply) this.#stream = undefined;
    };
    reply.openStream();
    for (const message of this.#missed.values()) reply.tell(message);
    this.#missed.clear();
  }

  async send(message: JSONRPCMessage, options?: TransportSendOptions): Promise<void> {
    if (!('method' in message)) {
      const { id } = message;
      const exchange = id === undefined ? undefined : this.#exchanges.get(id);
      if (!exchange) return;
      this.#exchanges.delete(id!);
      this.#onAnswered();
      exchange.json(message);
    } else if (options?.relatedRequestId !== undefined) {
      const told = this.#exchanges.get(options.relatedRequestId)?.tell(message);
      if (!told && 'id' in message) throw new Error('the client cannot be asked: it takes no stream');
    } else if (!this.#stream?.tell(message)) {
      this.#missed.set(JSON.stringify(message), message);
    }
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    for (const exchange of this.#exchanges.values()) exchange.end();
    this.#exchanges.clear();
    this.#stream?.end();
    this.onclose?.();
  }

  /** Cancels a request as if the client had. */
  #cancel(requestId: RequestId, exchange: Exchange): void {
    if (this.#exchanges.get(requestId) !== exchange) return;
    const params = { requestId, reason: 'the client hung up' };
    this.onmessage?.({ jsonrpc: '2.0', method: 'notifications/cancelled', params });
    this.#drop(requestId);
  }

  /** Ends the HTTP request of a cancelled call, which the server never answers. */
  #dropCancelled(message: JSONRPCMessage): void {
    if (!('method' in message) || message.method !== 'notifications/cancelled') return;
    const requestId = message.params?.requestId;
    if (typeof requestId === 'string' || typeof requestId === 'number') this.#drop(requestId);
  }

  #drop(requestId: RequestId): void {
    const exchange = this.#exchanges.get(requestId);
    if (!exchange) return;
    this.#exchanges.delete(requestId);
    this.#onAnswered();
    exchange.end();
  }
}
