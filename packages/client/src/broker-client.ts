import type {
  ConnectedAgent,
  Message,
  SignalboxError,
  SubscribedFrame,
  WelcomeFrame,
} from '@signalbox/protocol';

/**
 * One agent's connection to the broker. A supervisor keeps it up, and every method works across reconnects. Once the client is
 * closed for good, methods reject with the reason (`closed` if its owner closed it).
 */
export interface BrokerClient extends AsyncDisposable {
  readonly address: string;
  readonly agent: string;
  readonly role: string;
  /** The broker's newest welcome. */
  readonly welcome: WelcomeFrame;
  readonly state: ClientState;
  /** Calls `listener` at each change of the state; returns a function that removes it. */
  onState(listener: (state: ClientState) => void): () => void;
  /** Resolves when the client is closed for good, with the reason unless the owner closed it. */
  readonly closed: Promise<SignalboxError | undefined>;

  /**
   * Sends a message and resolves with the broker's receipt. After a reconnect it is sent again with the same id, so that it is
   * stored once. Rejects with the broker's code, or `timed_out`, `connection_lost` (timed out while disconnected), `aborted`,
   * `invalid_message`, `message_too_large`; `details.mayBeStored` tells whether it may have arrived all the same.
   * An ephemeral message has no receipt: it resolves when the message has left, and a refusal is only logged.
   */
  deliver(message: Outgoing, options?: DeliverCallOptions): Promise<Receipt>;
  /** Sends a request and waits for the reply. Never rejects for an expected end: see {@link RequestOutcome}. */
  request(to: string, kind: string, body: unknown, options: RequestOptions): Promise<RequestOutcome>;
  /**
   * Answers the messages of some kinds. The reply goes to the request's address with its id as `correlation_id`, and
   * acks it in the same commit. Other kinds are left alone. Rejects if a kind is served already.
   */
  serve(kinds: readonly string[], handler: ServeHandler, options?: ServeOptions): Promise<ServeLoop>;
  /** Calls `listener` with each ephemeral message that no request and no serve loop takes (`event`, for example). */
  onMessage(listener: (message: ParsedMessage) => void): () => void;
  /** Hands out the messages of the client's own inbox, which the caller acks by itself. */
  subscribe(options?: SubscribeOptions): Promise<Subscription>;

  /** Acks messages by `seq`. Without a connection all are rejected: they will be delivered again. */
  ack(seqs: readonly number[]): Promise<AckResult>;
  /** Gives messages back, to be tried again after `delayMs`, or never again if `dead`. */
  nack(
    seqs: readonly number[],
    options?: { delayMs?: number; dead?: boolean; reason?: string },
  ): Promise<AckResult>;
  /** Says that work on messages has begun: their ack deadline is renewed, and a later loss counts as an attempt. */
  working(seqs: readonly number[]): void;
  /** Withdraws the client's own request; `correlationId` is its id. */
  cancel(to: string, correlationId: string): void;
  /** Sets what `listConnected` shows of this client: JSON of at most 2 KiB. Sent at most once a second, kept across reconnects. */
  announce(status: unknown): void;
  /** Lists the connected agents that this client may see. */
  listConnected(options?: { role?: string; withStatus?: boolean }): Promise<ConnectedAgent[]>;
  /** Reads an inbox without taking anything; `after` is a `seq`. */
  peek(options?: { address?: string; after?: number; limit?: number }): Promise<Message[]>;
  /** Runs an operation of the operator; needs the operator's permission. */
  admin(op: string, params?: Record<string, unknown>): Promise<unknown>;
  /** Sends what is waiting, aborts what is being served, and ends the connection for good. */
  close(): Promise<void>;
}

/** The state of a client. `closed` is final; its `reason` is absent if the owner closed the client. */
export type ClientState =
  | { readonly name: 'connecting' | 'ready' | 'reconnecting' }
  | { readonly name: 'closed'; readonly reason: SignalboxError | undefined };

/** A message to be delivered. */
export interface Outgoing {
  /** `agent` or `agent#sub`. */
  to: string;
  kind: string;
  /** A JSON value; left out for a message without a body. */
  body?: unknown;
  /** The same id again is the same message: the broker stores it once. The client makes one if it is left out. */
  id?: string;
  correlationId?: string;
  /** Lifetime in milliseconds; the broker's default is 7 days. */
  ttlMs?: number;
  /** `seq` of a message of the present lease, acked in the commit that stores this one. */
  settles?: number;
  /** Only for a recipient that is connected; never stored, and without a receipt. */
  ephemeral?: boolean;
  traceparent?: string;
}

export interface DeliverCallOptions {
  signal?: AbortSignal;
  /** The longest wait for the receipt, reconnects included; default 30 s. */
  timeoutMs?: number;
}

/** The broker's word that it holds a message. `duplicate`: it held one of this id already. */
export interface Receipt {
  id: string;
  duplicate: boolean;
}

export interface RequestOptions {
  /** Id of the request, unique per sender, so that it can be asked about after a crash; the client makes one by default. */
  id?: string;
  /** One deadline for receipt, reply and ack together, in milliseconds from now. */
  timeoutMs: number;
  signal?: AbortSignal;
  /** Gets the bodies of the recipient's `progress` messages. */
  onProgress?: (body: unknown) => void;
  /**
   * For reads without effect: never stored, and sent again after a reconnect or while nobody holds the recipient's inbox.
   * `no_consumer` is reported (as `rejected`) only when the deadline ends.
   */
  ephemeral?: boolean;
  /** Default `mcp_reply` for an `mcp_request`, else `reply`. */
  replyKind?: string;
}

/**
 * How a request ended. `mayHaveRun` is false only where the recipient can't have got it.
 * `not_sent`: it never left this client. `rejected`: the broker refused it (`error.retryable` says if for now).
 * `undeliverable`: the broker gave it up, or the reply was no JSON (`bad_body`).
 * `connection_lost`: the client was closed for good, or the broker refused a repeat of a send whose fate is unknown.
 */
export type RequestOutcome =
  | { status: 'completed'; reply: ParsedMessage; mayHaveRun: true }
  | { status: 'not_sent' | 'rejected'; error: SignalboxError; mayHaveRun: false }
  | { status: 'undeliverable'; reason: string; mayHaveRun: boolean }
  | { status: 'cancelled' | 'timed_out' | 'connection_lost'; mayHaveRun: boolean; error?: SignalboxError };

/** A message with its body read as JSON (`undefined` if it has no body). */
export type ParsedMessage = Message & { json: unknown };

/** Limits of the messages that the broker may push ahead of acks: `window` in messages (default 64), `windowBytes` of bodies (8 MiB). */
export interface SubscribeOptions {
  window?: number;
  windowBytes?: number;
  /** Names the execution journal behind this inbox; `subscribed.same_journal` tells whether the last subscriber named the same. */
  journalId?: string;
  /** Called before each `subscribe` frame leaves. */
  onSubscribing?: () => void;
  /** Called with each answer to one, before any message of that subscription is handled. */
  onSubscribed?: (frame: SubscribedFrame) => void;
}

/**
 * The un-acked messages of the client's own inbox that no request and no serve loop takes, in order. Ack them by `seq`
 * with `client.ack`. After a reconnect the un-acked ones are offered again. Ends when it is disposed or the client is
 * closed by its owner; throws the reason if the client is closed for another.
 */
export interface Subscription extends AsyncDisposable {
  readonly subscribed: SubscribedFrame;
  readonly messages: AsyncIterableIterator<Message>;
}

/** The `seqs` that counted, and those that did not. One is rejected if it isn't un-acked in the present lease. */
export interface AckResult {
  accepted: number[];
  rejected: number[];
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

/** A running serve loop. `subscribed` is the broker's answer of the time it began. Disposing it is `stop()`. */
export interface ServeLoop extends AsyncDisposable {
  readonly subscribed: SubscribedFrame;
  /** Requests that wait, run, or whose reply has no receipt yet. */
  readonly inFlight: number;
  /** Takes nothing new, and resolves when what runs is answered and receipted (or the client is closed). */
  stop(): Promise<void>;
}

/** Answers a request. A rejection has it tried again later, by the broker's rules. */
export type ServeHandler = (request: ServedRequest) => Promise<ServeAnswer>;

/** Answers a request whose body is not JSON, or too large or deep to read; without one, such a request becomes a dead letter. */
export type BadBodyHandler = (problem: SignalboxError) => ServedReply;

/** A request as a {@link ServeHandler} gets it. */
export interface ServedRequest {
  readonly message: Message;
  /** The body read as JSON; `undefined` without one. */
  readonly json: unknown;
  /** Aborted when the requester cancels, when the deadline passes, and when the client is closed. */
  readonly signal: AbortSignal;
  /** Monotonic milliseconds (the client's `now`, by default `performance.now()`); `undefined` without a lifetime. */
  readonly deadline: number | undefined;
  /** Returns what is left of its lifetime, never below 0. */
  remainingMs(): number | undefined;
  /** Tells the requester how the work goes; may be lost, never stored. */
  progress(body: unknown): void;
  /**
   * Says that work begins: from now on, losing this consumer counts as an attempt. The loop says so itself before it calls the
   * handler, unless it serves with `tellsStart`.
   */
  started(): void;
}

/** The answer of a handler: a reply; `undefined` to ack the request without one; {@link handBack} to leave it un-acked. */
export type ServeAnswer = ServedReply | typeof handBack | undefined;

/** The answer to a request; `body` is a JSON value. */
export interface ServedReply {
  kind: string;
  body: unknown;
  /** Called once when the reply is stored at the broker, or refused for good. Not called if the client is closed before. */
  settled?: (how: 'stored' | 'refused') => void;
}

/** Returned for a request on which the handler has not begun to work: it stays un-acked, for the next one that serves it. */
export const handBack = Symbol('hand back');

/** Takes what the client reports: `event` names it, the rest are facts. Never holds a token or a body. */
export type Log = (event: { event: string; [fact: string]: unknown }) => void;
