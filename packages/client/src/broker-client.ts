import type {
  ConnectedAgent,
  Message,
  SignalboxError,
  SubscribedFrame,
  WelcomeFrame,
} from '@signalbox/protocol';
import type { Outgoing } from './requests/outgoing.ts';
import type { ParsedMessage, RequestOptions, RequestOutcome } from './requests/pending-request.ts';
import type { BadBodyHandler, ServeHandler } from './serving/accepted-request.ts';
import type { SubscribeOptions } from './serving/inbox-subscription.ts';
import type { Subscription } from './serving/message-stream.ts';
import type { ClientState } from './socket/supervisor.ts';

export interface DeliverCallOptions {
  signal?: AbortSignal;
  /** For the receipt, reconnects included; default 30 s. */
  timeoutMs?: number;
}

export interface ServeOptions extends SubscribeOptions {
  /** Handlers that run at a time; default 64. */
  concurrency?: number;
  badBody?: BadBodyHandler;
  /**
   * The handler tells when work begins, with `request.started()`: until then a request waits with it, and losing this
   * consumer costs the request no attempt. By default work begins with the handler.
   */
  tellsStart?: boolean;
}

/** `subscribed` is the broker's answer of the time the loop began. Disposing it is `stop()`. */
export interface ServeLoop extends AsyncDisposable {
  readonly subscribed: SubscribedFrame;
  /** Requests that wait, run, or whose reply has no receipt yet. */
  readonly inFlight: number;
  /** Takes nothing new, and resolves when what runs is answered and receipted (or the client is closed). */
  stop(): Promise<void>;
}

/** Which of the `seqs` counted. One is rejected if it isn't un-acked in the present lease. */
export interface AckResult {
  accepted: number[];
  rejected: number[];
}

/**
 * One agent's connection to the broker, kept up by a supervisor. Every method works across reconnects; once the
 * client is closed they reject with the reason (`closed` if it was closed by its owner).
 */
export interface BrokerClient extends AsyncDisposable {
  readonly address: string;
  readonly agent: string;
  readonly role: string;
  /** The newest one. */
  readonly welcome: WelcomeFrame;
  readonly state: ClientState;
  /** Told each change; returns the way to stop. */
  onState(listener: (state: ClientState) => void): () => void;
  /** Resolves when the supervisor stops for good, with the reason unless the owner closed it. */
  readonly closed: Promise<SignalboxError | undefined>;

  /**
   * Resolves with the receipt. Sends the same id again after a reconnect, so that it is stored once.
   * Rejects with the broker's code, or `timed_out`, `connection_lost` (timed out while disconnected), `aborted`,
   * `invalid_message`, `message_too_large`; `details.mayBeStored` tells if it may have arrived all the same.
   * An ephemeral message has no receipt: it resolves when the message has left, and a refusal is only logged.
   */
  deliver(message: Outgoing, options?: DeliverCallOptions): Promise<{ id: string; duplicate: boolean }>;
  /** Asks and waits for the reply. Never rejects for an expected end: see {@link RequestOutcome}. */
  request(to: string, kind: string, body: unknown, options: RequestOptions): Promise<RequestOutcome>;
  /**
   * Answers the messages of some kinds. The reply goes to the request's address with its id as `correlation_id`, and
   * acks it in the same commit. Other kinds are left alone. Rejects if a kind is served already.
   */
  serve(kinds: readonly string[], handler: ServeHandler, options?: ServeOptions): Promise<ServeLoop>;
  /** Ephemeral messages that no waiter and no serve loop takes (`event`, for example). */
  onMessage(listener: (message: ParsedMessage) => void): () => void;
  /** Takes the inbox by hand. */
  subscribe(options?: SubscribeOptions): Promise<Subscription>;

  /** Without a connection all are rejected: they will be delivered again. */
  ack(seqs: readonly number[]): Promise<AckResult>;
  nack(
    seqs: readonly number[],
    options?: { delayMs?: number; dead?: boolean; reason?: string },
  ): Promise<AckResult>;
  /** "Handed to somebody": renews an ack deadline and makes a later loss count as an attempt. */
  working(seqs: readonly number[]): void;
  /** Withdraws one's own request; `correlationId` is its id. */
  cancel(to: string, correlationId: string): void;
  /** What `listConnected` shows of this client: JSON of at most 2 KiB. Sent at most once a second, kept across reconnects. */
  announce(status: unknown): void;
  listConnected(options?: { role?: string; withStatus?: boolean }): Promise<ConnectedAgent[]>;
  /** Reads an inbox without taking anything; `after` is a `seq`. */
  peek(options?: { address?: string; after?: number; limit?: number }): Promise<Message[]>;
  /** Needs the operator permission. */
  admin(op: string, params?: Record<string, unknown>): Promise<unknown>;
  /** Sends what is waiting, aborts what is being served, and ends the connection for good. */
  close(): Promise<void>;
}
