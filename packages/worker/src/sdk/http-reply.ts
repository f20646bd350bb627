import type { JSONRPCMessage } from '@modelcontextprotocol/server';
import type { HttpRefusal } from './http-refusal.ts';

export type RequestId = string | number;

/** The way in which a client takes a stream of events: not at all, besides JSON, or alone. */
export type EventsTaken = 'none' | 'also' | 'only';

/** The answer to one JSON-RPC request, wherever it goes. */
export interface Exchange {
  /** Sends a message before the answer. Returns false if it was dropped: the client takes no stream of events, or does not read it. */
  tell(message: JSONRPCMessage): boolean;
  /** Begins the stream of events, if the client takes one and it has not begun. */
  openStream?(): void;
  /** Sends the answer, which ends the exchange. */
  json(message: JSONRPCMessage): void;
  /** Ends the exchange without an answer. */
  end(): void;
}

/** The status and headers that are sent before an answer, unless a stream has begun. */
export interface ReplyHead {
  /** Default 200. */
  status?: number;
  headers?: Readonly<Record<string, string>>;
  /** The id of the answer as an event, if a stream has begun. */
  eventId?: string;
}

/**
 * The answer to one HTTP request on its way to the client. It is one piece of JSON until there is something to tell before the answer, or
 * until it takes too long; from then on it is a stream of events. Nothing is written after its end.
 */
export interface HttpReply extends Exchange {
  /** True if the client takes a stream of events. */
  readonly takesEvents: boolean;
  /** True when the answer has left, or the client has hung up. */
  readonly isClosed: boolean;
  /** Called when the client hangs up before the answer has left. */
  onHangUp: (() => void) | undefined;
  /** Called when the stream of events begins. An empty event with the returned id comes first, if there is one. */
  onStream: (() => string | undefined) | undefined;
  /** Sends a message before the answer, with an id as an event; see {@link Exchange.tell}. */
  tell(message: unknown, eventId?: string): boolean;
  json(message: unknown, head?: ReplyHead): void;
  openStream(): void;
  /** Answers with the reason why the request is not served. `id` is the request's, if it is known. */
  refuse(refusal: HttpRefusal, id?: RequestId | null): void;
  /** Ends the exchange; if nothing was sent, with this status, which is 202 by default. */
  end(status?: number): void;
  /** Keeps the request's share of what its agent may have under way, also after the client has hung up, until the result is called. */
  keepSlot(): () => void;
  /** Passes on a response of the SDK. Never rejects. */
  pass(response: Response): Promise<void>;
}
