import type {
  JSONRPCMessage,
  JSONRPCRequest,
  Transport,
  TransportSendOptions,
} from '@modelcontextprotocol/server';
import { Announcements } from './announcements.ts';
import {
  answerStreamOf,
  type EventPlace,
  eventIdOf,
  lastNumber,
  readEventId,
  requestOf,
} from './event-id.ts';
import { type HttpRefusal, refusalMessage } from './http-refusal.ts';
import type { Exchange, HttpReply, RequestId } from './http-reply.ts';
import type { PastAnswers } from './past-answers.ts';
import { ResumableAnswer } from './resumable-answer.ts';

/** The revision whose clients resume streams. Older ones do not understand the empty event that a stream begins with. */
const resumedRevision = '2025-11-25';

export interface SessionTransportOptions {
  /** Keeps the answers of the agent's streams. */
  past: PastAnswers;
  /** Monotonic milliseconds. */
  now: () => number;
  /** Called when a request was answered. */
  onAnswered: () => void;
}

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
  readonly #announcements = new Announcements();
  readonly #options: SessionTransportOptions;
  /** True if the revision of the client has streams that are resumed. */
  #isResumable = false;
  #closed = false;

  constructor(sessionId: string, options: SessionTransportOptions) {
    this.sessionId = sessionId;
    this.#options = options;
  }

  /** True while a request runs or the client listens. */
  get isBusy(): boolean {
    return this.#exchanges.size > 0 || this.#announcements.isListening;
  }

  async start(): Promise<void> {}

  /** Passes the request that begins the session to the server. Resolves with the answer, if there is one. */
  begin(initialize: JSONRPCRequest): Promise<JSONRPCMessage | undefined> {
    return new Promise((resolve) => {
      const json = (answer: JSONRPCMessage) => {
        this.#isResumable = 'result' in answer && answer.result.protocolVersion === resumedRevision;
        resolve(answer);
      };
      this.#exchanges.set(initialize.id, { tell: () => false, json, end: () => resolve(undefined) });
      this.onmessage?.(initialize);
    });
  }

  /** Passes a posted message to the server. A client that hangs up cancels its request, unless it has a stream that can be resumed. */
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
    if (this.#isResumable) reply.onStream = () => this.#beginStream(id, reply);
    this.onmessage?.(message);
  }

  /**
   * Opens a stream: the one whose event the client got last, or else the one for messages that belong to no request. A new stream
   * replaces the same earlier one.
   */
  listen(reply: HttpReply, lastEventId?: string): void {
    const last = lastEventId === undefined ? undefined : readEventId(lastEventId);
    const request = last && requestOf(last.stream);
    if (last && request !== undefined) this.#resume(reply, request, last);
    else this.#announcements.listen(reply, { hasIds: this.#isResumable, last });
  }

  async send(message: JSONRPCMessage, options?: TransportSendOptions): Promise<void> {
    if (!('method' in message)) {
      const { id } = message;
      const exchange = id === undefined ? undefined : this.#exchanges.get(id);
      if (!exchange) return;
      this.#exchanges.delete(id!);
      this.#options.onAnswered();
      exchange.json(message);
      if (exchange instanceof ResumableAnswer) this.#options.past.add(this.sessionId, exchange);
    } else if (options?.relatedRequestId !== undefined) {
      const told = this.#tell(options.relatedRequestId, message);
      if (!told && 'id' in message) throw new Error('the client cannot be asked: it takes no stream');
    } else this.#announcements.tell(message);
  }

  /** Cancels the requests whose clients have been away since a time, in milliseconds. */
  cancelLeft(since: number): void {
    for (const [id, exchange] of this.#exchanges) {
      const { leftAt = undefined } = exchange instanceof ResumableAnswer ? exchange : {};
      if (leftAt !== undefined && leftAt <= since) this.#cancel(id, exchange);
    }
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    for (const exchange of this.#exchanges.values()) exchange.end();
    this.#exchanges.clear();
    this.#announcements.end();
    this.onclose?.();
  }

  /** Sends a message before an answer. Its stream begins first, because events of a stream have ids. */
  #tell(requestId: RequestId, message: JSONRPCMessage): boolean {
    this.#exchanges.get(requestId)?.openStream?.();
    return this.#exchanges.get(requestId)?.tell(message) ?? false;
  }

  /** Makes the answer to a request one that can be resumed, and returns the id of its first event. */
  #beginStream(id: RequestId, reply: HttpReply): string | undefined {
    const stream = answerStreamOf(id);
    if (stream === undefined || this.#exchanges.get(id) !== reply) return undefined;
    this.#exchanges.set(id, new ResumableAnswer(stream, reply, this.#options.now));
    return eventIdOf({ stream, number: 0 });
  }

  #resume(reply: HttpReply, id: RequestId, { stream, number }: EventPlace): void {
    const running = this.#exchanges.get(id);
    const answer =
      running instanceof ResumableAnswer ? running : this.#options.past.get(this.sessionId, stream);
    if (answer) answer.resume(reply, number);
    else if (running || number === lastNumber) reply.end(204);
    else {
      reply.openStream();
      reply.json(refusalMessage(lostAnswer, id), { eventId: eventIdOf({ stream, number: lastNumber }) });
    }
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
    this.#options.onAnswered();
    exchange.end();
  }
}

const lostAnswer: HttpRefusal = {
  status: 200,
  message:
    'this face does not have the answer to the request (any more): it was started again, or the answer waited for more than a minute or was too large. ' +
    'A tool call may have run; signalbox_call_result lists the newest calls with their results.',
};
