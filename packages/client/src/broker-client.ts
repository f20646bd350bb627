import type {
  AdminOp,
  AdminParams,
  AdminResult,
  AuditReport,
  CancelSignal,
  ConnectedAgent,
  FindFrame,
  FoundState,
  JournalClaim,
  Message,
  OrchestratorFigures,
  PeekedMessage,
  RecipientState,
  RefusedMember,
  ScheduledMessageInfo,
  SignalboxError,
  SubscribedFrame,
  WelcomeFrame,
} from '@signalbox/protocol';
import type { HoldsListener } from './socket/holds-follower.ts';
import type { RightsListener } from './socket/rights-follower.ts';

/**
 * One agent's connection to the broker. A supervisor keeps it up, and every method works across reconnects. Once the client is
 * closed for good, methods reject with the reason (`closed` if its owner closed it).
 */
export interface BrokerClient extends AsyncDisposable {
  /** The address of the client's inbox: `agent`, or `agent#sub`. */
  readonly address: string;
  /** The agent's id: the address without its sub-inbox. */
  readonly agent: string;
  /** The role of the token, as the broker attests it. A renewed token may have another. */
  readonly role: string;
  /** The welcome of the newest connection, with the broker's identity and limits. */
  readonly welcome: WelcomeFrame;
  /** The address of the connection, or the one that is tried next: one of those in `ConnectOptions.url`. */
  readonly url: string;
  /** The present state of the connection. */
  readonly state: ClientState;
  /** Calls `listener` at each change of the state; returns a function that removes it. */
  onState(listener: (state: ClientState) => void): () => void;
  /** Resolves when the client is closed for good, with the reason unless the owner closed it. */
  readonly closed: Promise<SignalboxError | undefined>;

  /**
   * Sends a message and resolves with the broker's receipt. After a reconnect the message is sent again with the same id, and the broker
   * stores it once. If another broker answers after the reconnect, the message is not sent again, and the promise rejects with
   * `connection_lost`.
   * Rejects with the broker's code, or with `timed_out`, `connection_lost` (the time ran out while disconnected), `aborted`,
   * `invalid_message` or `message_too_large`. `details.mayBeStored` is true if the broker may have stored the message all the same.
   * An ephemeral message has no receipt: the promise resolves when the message has left, and a refusal is only logged.
   */
  deliver(message: Outgoing, options?: DeliverCallOptions): Promise<Receipt>;
  /** Sends a request and waits for the reply. Never rejects for an expected end: see {@link RequestOutcome}. */
  request(to: string, kind: string, body: unknown, options: RequestOptions): Promise<RequestOutcome>;
  /**
   * Answers the messages of some kinds; `*` stands for all kinds that no other loop serves. A reply goes to the requester's address, with
   * the request's id as `correlation_id`; the commit that stores the reply acks the request. Messages of other kinds are left alone.
   * Rejects with `invalid_message` if a loop serves one of the kinds already.
   */
  serve(kinds: readonly string[], handler: ServeHandler, options?: ServeOptions): Promise<ServeLoop>;
  /** Calls `listener` with each ephemeral message that no request and no serve loop takes (`event`, for example). */
  onMessage(listener: (message: ParsedMessage) => void): () => void;
  /** Hands out the messages of the client's own inbox. The caller acks them with {@link ack}. */
  subscribe(options?: SubscribeOptions): Promise<Subscription>;

  /** Acks messages by `seq`. Without a connection all of them are rejected, and the broker delivers them again. */
  ack(seqs: readonly number[]): Promise<AckResult>;
  /**
   * Gives messages back. The broker delivers them again after `delayMs`, or makes dead letters of them if `dead` is true. It is a failed
   * attempt of theirs unless `counts` is false.
   */
  nack(
    seqs: readonly number[],
    options?: { delayMs?: number; dead?: boolean; counts?: boolean; reason?: string },
  ): Promise<AckResult>;
  /**
   * Tells the broker that work on messages has begun: it renews their ack deadlines, and a later loss counts as an attempt.
   * `traceparent` names the span of that work to the consumer that tries the messages next.
   */
  working(seqs: readonly number[], traceparent?: string): void;
  /** Withdraws a request of this client, or a message of it that is not due yet. `correlationId` is the id of the request or message. */
  cancel(to: string, correlationId: string): void;
  /**
   * Withdraws a request as {@link cancel} does, and resolves when the broker has done so: a reply that it had stored before waits in the
   * inbox by then. A recipient that has the request already may still answer it.
   */
  withdraw(to: string, correlationId: string): Promise<void>;
  /**
   * Lists messages that are not due yet, the first due one first. Operators and observers see those of all agents, other clients see their
   * own.
   */
  listScheduled(options?: ListScheduledOptions): Promise<ScheduledMessageInfo[]>;
  /**
   * Cancels a message that is not due yet. Operators may cancel a message of another `sender`. Resolves with the number of cancelled
   * messages: 0 or 1, or one for each member of a group that had a copy. A message that is due already is left alone.
   */
  cancelScheduled(message: { to: string; id: string; sender?: string }): Promise<number>;
  /**
   * Sets the status that `listConnected` shows of this client: JSON of at most 2 KiB. It is sent at most once a second, and again after a
   * reconnect.
   */
  announce(status: unknown): void;
  /**
   * Tells that the program behind this client ended with a failure, and how, in at most 500 characters. Operators see it for 24 h, or until
   * a later client of the agent announces a status. Nothing is told while the broker is away.
   */
  announceFailure(how: string): void;
  /** Lists the connected agents that this client may see. */
  listConnected(options?: { role?: string; withStatus?: boolean }): Promise<ConnectedAgent[]>;
  /** Returns the connections of one agent, and why a message to it may wait if the own role may list all agents. */
  findRecipient(agent: string): Promise<{ connections: ConnectedAgent[]; state?: RecipientState }>;
  /** Reads an inbox without taking anything. */
  peek(options?: PeekOptions): Promise<PeekedMessage[]>;
  /**
   * Asks whether requests in this client's inbox are settled, each named by its id and, if it is known, its sender. The states come in
   * the order of the requests. `answered`: it is settled, and this agent's reply with the id `reply` is stored. `ambiguous`: no sender was
   * named, and there are several. `unknown`: it was settled long ago, or the broker never stored it. `orphaned`: it is open, and its sender
   * is not connected; only if `with_sender` was asked.
   */
  find(requests: readonly FindFrame['requests'][number][]): Promise<FoundState[]>;
  /**
   * Reports events for the broker's audit log. Only orchestrators may. The events are recorded when this resolves, also if the connection
   * is lost meanwhile. After a `timed_out` the caller may report the same batch again under its id: the broker records it once. `sentAt` is
   * the present time in epoch milliseconds, from which the ages of the events are counted.
   */
  audit(batch: string, events: readonly AuditReport[], sentAt?: number): Promise<void>;
  /**
   * Reports an orchestrator's figures and the problems of its servers, which the broker shows to operators and observers. Only
   * orchestrators may. Without a connection the report is dropped.
   */
  reportMetrics(problems: readonly string[], figures: OrchestratorFigures): void;
  /**
   * Asks for facts about tokens, at most 256 of each kind. Only orchestrators may. `minters` lists the ids of the minting tokens that
   * issued the agents' tokens. `decide` says whether the tokens are valid and may decide on tool calls of the roles.
   */
  checkTokens(question: {
    agents?: readonly string[];
    deciders?: readonly { tokenId: string; role: string }[];
  }): Promise<{ minters: (string | undefined)[]; decide: boolean[] }>;
  /**
   * Calls the listener with all current holds: at first, after each change, and again after a reconnect, before any message comes. Only
   * orchestrators may. Returns a function that removes the listener.
   */
  onHolds(listener: HoldsListener): () => void;
  /**
   * Calls the listener when a hold has begun or ended, or an agent has no valid token any more: with the agent, or with `undefined` if it may
   * concern any, also when the connection is lost. The own agent is followed, and those of {@link followRights}. Returns a function that
   * removes the listener.
   */
  onRights(listener: RightsListener): () => void;
  /** Names the other agents whose rights are followed, at most 256, in place of those before. */
  followRights(agents: readonly string[]): void;
  /**
   * Calls the listener when a lane is opened, with the epoch of its orchestrator's journal, and with `undefined` when it takes no more
   * requests. Returns a function that removes the listener.
   */
  onLane(listener: (epoch: string | undefined) => void): () => void;
  /** Runs an operation for operators; the token needs the permission for it. Rejects with `internal` if the result can't be read. */
  admin<Op extends AdminOp>(op: Op, params: AdminParams<Op>): Promise<AdminResult<Op>>;
  /** Sends what is waiting, aborts what is being served, and ends the connection for good. */
  close(): Promise<void>;
}

/** Selects messages that are not due. */
export interface ListScheduledOptions {
  /** Only messages to this inbox. */
  to?: string;
  /** Only messages of this agent. */
  sender?: string;
  /** The most messages that are listed; default 100. */
  limit?: number;
}

/** Selects the messages that a `peek` reads, by default the oldest 100 of this client's inbox. */
export interface PeekOptions {
  address?: string;
  /** Only messages with a higher `seq`. */
  after?: number;
  limit?: number;
  /** False leaves the bodies out. */
  bodies?: boolean;
  /** Called before the messages come if others wait until an operator ends a hold, with their number. */
  onHeldBack?: (messages: number) => void;
}

/** The state of a client. `closed` is final; its `reason` is absent if the owner closed the client. */
export type ClientState =
  | { readonly name: 'connecting' | 'ready' | 'reconnecting' }
  | { readonly name: 'closed'; readonly reason: SignalboxError | undefined };

/** A message to be delivered. */
export interface Outgoing {
  /** The recipient: `agent`, `agent#sub`, or a group, `role:ROLE` or `group:NAME`, one of whose members gets it. */
  to: string;
  /** The kind of the message, as in `ask`: lower-case letters and underscores. */
  kind: string;
  /** A JSON value. Leave it out for a message without a body. */
  body?: unknown;
  /** The broker stores messages with the same id once. The client makes an id if it is left out. */
  id?: string;
  /** The id of the message that this one answers. */
  correlationId?: string;
  /**
   * The thread of messages that it belongs to, of 1 to 64 printable ASCII characters without spaces; by default one of its own, with
   * its id. A reply has that of its request. Messages of one thread to a group have it as their `groupKey`.
   */
  thread?: string;
  /** The lifetime in milliseconds; the broker's default is 7 days. */
  ttlMs?: number;
  /**
   * The time in milliseconds after which the message is handed out, from its storing on. Its lifetime begins then. The receipt comes at
   * once. Not for `ask`, `mcp_request` and replies, and not with {@link settles}.
   */
  notBeforeMs?: number;
  /** A group's messages with the same key are handed out one after the other, in their order. It has at most 64 characters. */
  groupKey?: string;
  /** True: each member of the group but the sender gets a copy. By default nobody does if one of them can't be given it. */
  all?: boolean;
  /** True, with `all`: members who can't be given the message are left out. {@link Receipt.refused} names them. */
  partial?: boolean;
  /** The `seq` of a message that the client holds: the commit that stores this message acks it. */
  settles?: number;
  /**
   * For a `reply`, in place of {@link settles}: the inbox to which the request was sent, the client's own or, for operators, that of any
   * operator. The commit that stores the reply acks the request, which nobody needs to hold.
   */
  asked?: string;
  /** True: the message goes only to a recipient that is connected, is never stored, and has no receipt. */
  ephemeral?: boolean;
  /**
   * The `traceparent` of W3C Trace Context that the message belongs to; by default that of the active span. A client with tracing sends
   * that of its own span below it. An invalid one is left out.
   */
  traceparent?: string | undefined;
}

/** The time limits of one `deliver`. */
export interface DeliverCallOptions {
  /** Aborting it ends the wait for the receipt; the message may be stored all the same. */
  signal?: CancelSignal;
  /** The longest wait for the receipt, reconnects included; default 30 s. */
  timeoutMs?: number;
}

/** The broker's confirmation that it holds a message. */
export interface Receipt {
  /** The id of the message. */
  id: string;
  /** True if the broker already held a message with this id. */
  duplicate: boolean;
  /** The number of members for which a message to `all` was stored, or 0 if it waits in a group without members. Absent otherwise. */
  members?: number;
  /** The members for which a `partial` message was not stored, and why. Absent if there are none. */
  refused?: RefusedMember[];
  /** The lifetime in milliseconds, if it is the longest that the broker gives. A longer one was cut to it. */
  ttlMs?: number;
}

/** The id, the time limits and the callbacks of one request. */
export interface RequestOptions {
  /** The id of the request, unique for each sender, so that it can be asked about after a crash. The client makes one by default. */
  id?: string;
  /**
   * True if no request with this `id` was ever sent, so that its recipient need not look for an earlier one. So it is by default only
   * without an `id`.
   */
  isFirst?: boolean | undefined;
  /** One time limit for receipt and reply together, in milliseconds from now. The request's lifetime is the same. */
  timeoutMs: number;
  /** Aborting it withdraws the request. */
  signal?: CancelSignal;
  /** Called with the bodies of the recipient's `progress` messages. */
  onProgress?: (body: unknown) => void;
  /**
   * True: the request is never stored. It is sent again after a reconnect and while nobody holds the recipient's inbox, so it must
   * be a read without effect. `no_consumer` is reported (as `rejected`) only at the deadline.
   */
  ephemeral?: boolean;
  /** See {@link Outgoing.thread}. The reply has the same. */
  thread?: string;
  /** The kind of the expected reply; by default `mcp_reply` for an `mcp_request`, else `reply`. */
  replyKind?: string;
  /**
   * The message that ends the request is acked when this has resolved; by default at once. Until then the broker keeps it for the
   * next holder of the address.
   */
  ackAfter?: Promise<unknown>;
  /** Called when the broker has stored the request; `duplicate`: it had a request with this id before. */
  onReceipt?: (duplicate: boolean) => void;
  /** See {@link Outgoing.traceparent}. */
  traceparent?: string | undefined;
  /**
   * True: a request that the broker refuses as `rate_limited` is sent again when the broker says, if that is before the deadline. By
   * default it ends as `rejected`.
   */
  waitsForRate?: boolean;
  /**
   * The request may go to its recipient directly, on a lane, if there is one. If the lane is lost before the reply, the request is sent
   * through the broker, under the same id, with the body that this returns: the recipient may have begun it, under the journal's `epoch`.
   */
  onLane?: ((epoch: string | undefined) => unknown) | undefined;
  /**
   * With `onLane`: the request goes only on a lane of this epoch, since another process that repeats the request says that it may have been
   * started there. `null`: on none, but one is opened for later requests.
   */
  laneEpoch?: string | null | undefined;
}

/**
 * How a request ended. `mayHaveRun` is false only if the recipient can't have received the request.
 * `not_sent`: it never left this client. `rejected`: the broker refused it; if `error.retryable`, it may be accepted later.
 * `undeliverable`: the broker gave it up, or the reply was not JSON (`bad_body`). `detail` says more, in words of the broker or the
 * recipient.
 * `connection_lost`: the client was closed for good, the broker refused to take the request again after a lost connection, or
 * another broker (a restored one) answers after a reconnect and the request had no receipt. A request with a receipt waits on.
 */
export type RequestOutcome =
  | { status: 'completed'; reply: ParsedMessage; mayHaveRun: true }
  | { status: 'not_sent' | 'rejected'; error: SignalboxError; mayHaveRun: false }
  | { status: 'undeliverable'; reason: string; detail?: string; mayHaveRun: boolean }
  | { status: 'cancelled' | 'timed_out' | 'connection_lost'; mayHaveRun: boolean; error?: SignalboxError };

/** A message with its body read as JSON (`undefined` if it has no body). */
export type ParsedMessage = Message & { json: unknown };

/** The options with which a client subscribes to its own inbox, or to a group. */
export interface SubscribeOptions {
  /**
   * The group whose messages the client takes, instead of its own inbox: `role:ROLE` or `group:NAME`. The client then needs an address of
   * {@link groupAddress}, gets no replies and sends no requests. When the client is lost, another member gets the messages that it had.
   */
  group?: string;
  /** The time in which a member of a group must settle a message or renew it by `working`, in milliseconds; default 60,000. */
  ackDeadlineMs?: number;
  /** The most messages that the broker pushes ahead of acks; default 64, in a group 1. */
  window?: number;
  /** The most bytes of bodies that the broker pushes ahead of acks; default 8 MiB. */
  windowBytes?: number;
  /**
   * Names the process that reads, in at most 64 characters. A consumer with another name is a new process: the messages that the earlier
   * one had count as tried.
   */
  consumerId?: string;
  /**
   * Called before each `subscribe` frame leaves. Returns the generations of this consumer's execution journal;
   * `subscribed.journal` says which messages are foreign to it.
   */
  claimJournal?: () => JournalClaim;
  /** Called with the answer to each `subscribe` frame, before any message of that subscription is handled. */
  onSubscribed?: (frame: SubscribedFrame) => void;
}

/**
 * The un-acked messages of the client's own inbox that no request and no serve loop takes, in order. Ack them by `seq`
 * with `client.ack`. After a reconnect the un-acked ones come again. The iteration ends when the subscription is disposed or the
 * owner closes the client; it throws the reason if the client is closed for another one.
 */
export interface Subscription extends AsyncDisposable {
  /** The broker's answer to the subscription. */
  readonly subscribed: SubscribedFrame;
  /** Iterates over the messages. */
  readonly messages: AsyncIterableIterator<Message>;
  /**
   * Changes how many messages of a group the broker may push ahead of acks. With 0 it pushes no more. Messages that were pushed already
   * stay.
   */
  setWindow(window: number): Promise<void>;
}

/** The answer to an ack or nack. */
export interface AckResult {
  /** The `seqs` that were settled. */
  accepted: number[];
  /** The `seqs` that this client does not hold (any longer). */
  rejected: number[];
}

/** The options with which a serve loop subscribes and runs its handlers. */
export interface ServeOptions extends SubscribeOptions {
  /** The most handlers that run at a time; default 64. In a group it is the window, and 1 by default. */
  concurrency?: number;
  /**
   * True: the handler reads `message.body` itself, and `json` is `undefined`. By default bodies are parsed before the handler is
   * called, and requests whose bodies can't be read become dead letters.
   */
  readsBody?: boolean;
  /**
   * True: the handler itself says when work begins, by `request.started()`. Until then the loss of this consumer costs the request
   * no attempt. By default work begins when the handler is called. The broker is told 5 ms after the beginning, if the work is not over
   * by then, and at once about a request that was in the inbox before the subscription.
   */
  tellsStart?: boolean;
  /**
   * The path of a Unix socket on which the loop also takes requests of workers on this machine directly, on lanes. Their requests have no
   * `seq` and wait in no inbox: see {@link ServedRequest.mayWait}.
   */
  lanes?: string | undefined;
}

/** A running serve loop. Disposing it is the same as `stop()`. */
export interface ServeLoop extends AsyncDisposable {
  /** The broker's answer to the subscription with which the loop began. */
  readonly subscribed: SubscribedFrame;
  /** The number of requests that wait, run, or whose replies have no receipt yet. */
  readonly inFlight: number;
  /** Takes no more requests. Resolves when the replies to the running ones have their receipts, or the client is closed. */
  stop(): Promise<void>;
}

/** Answers a request. If it rejects, the request is given back and comes again later, by the broker's rules. */
export type ServeHandler = (request: ServedRequest) => Promise<ServeAnswer>;

/** A request as a {@link ServeHandler} gets it. */
export interface ServedRequest {
  /** The message with its header, which the broker attests, and its body as text. */
  readonly message: Message;
  /** The body, read as JSON; `undefined` if the message has none, or if the handler reads it itself. */
  readonly json: unknown;
  /**
   * Aborted when the requester cancels, when an operator stops the work (with a `SignalboxError` of the code `stopped_by_operator`), when
   * the deadline passes, and when the client is closed.
   */
  readonly signal: AbortSignal;
  /** Aborts together with `signal`. It costs less, for a handler that needs no `AbortSignal`. */
  readonly cancellation: CancelSignal;
  /** The end of the request's lifetime on the client's clock (`performance.now()` by default); `undefined` without a lifetime. */
  readonly deadline: number | undefined;
  /** The `traceparent` of the handler's span, or, without tracing, the valid one that the request came with. */
  readonly traceparent: string | undefined;
  /**
   * False if the request came only on a lane, so that it would be lost with this process or its requester. A handler that must wait for
   * something other than its own work returns {@link handBack}: then the requester sends the request through the broker.
   */
  readonly mayWait: boolean;
  /** True if the requester never sent a request with this id before, so that nobody has a record of one. */
  readonly isFirst: boolean;
  /** Returns what is left of the request's lifetime in milliseconds, never below 0; `undefined` without one. */
  remainingMs(): number | undefined;
  /** Sends the requester a `progress` message, which is never stored and may be lost. */
  progress(body: unknown): void;
  /**
   * Says that work begins: from now on, losing this consumer counts as an attempt. The loop says so itself before it calls the
   * handler, unless it serves with `tellsStart`. With `atOnce` the broker is told even if the work is over within 5 ms.
   */
  started(how?: { atOnce: boolean }): void;
  /** Aborts the signal, although the requester waits on. The handler still answers. */
  stop(): void;
}

/**
 * The answer of a handler: a reply; a failure, after which the request comes again; `undefined` to ack the request without a reply;
 * {@link handBack} to leave it un-acked.
 */
export type ServeAnswer = ServedReply | ServeFailure | typeof handBack | undefined;

/** The failure of a handler that decides when its request comes again. One that rejects leaves that to the client. */
export interface ServeFailure {
  /** The reason, of which the broker keeps 500 characters. */
  failed: string;
  /** The time after which the request comes again, in milliseconds: at most a day. */
  retryMs: number;
  /** False if the request is not to blame: then this is no failed attempt of it. */
  counts: boolean;
  /** True if the request becomes a dead letter instead. */
  dead: boolean;
}

/** The reply to a request. */
export interface ServedReply {
  /** The kind of the reply, as in `reply`. */
  kind: string;
  /** A JSON value. It need not be given if `text` is. */
  body?: unknown;
  /** The body as JSON text on one line, from a handler that has written it already. It is sent as it is. */
  text?: string | undefined;
  /** The code of the failure that the body reports, if it reports one. It is recorded only in the handler's span. */
  errorCode?: string | undefined;
  /** The request becomes a dead letter if the reply is refused for good, so that its sender is told. By default it is acked. */
  deadIfRefused?: boolean | undefined;
  /**
   * Called once when the broker has stored the reply or refused it for good; `error` is the refusal. Not called if the client is closed
   * before.
   */
  settled?: (how: ReplyEnd, error?: SignalboxError) => void;
}

/** The outcome of a reply: stored for a requester that is there, stored in an inbox that nobody holds (`waits`), or refused. */
export type ReplyEnd = 'stored' | 'waits' | 'refused';

/** A handler returns this for a request on which it has not begun to work: the request stays un-acked, for the next consumer. */
export const handBack = Symbol('hand back');

/** Called with each event that the client reports: its name and facts about it. No fact is a token or a body. */
export type Log = (event: { event: string; [fact: string]: unknown }) => void;
