const KiB = 1024;
const MiB = 1024 * KiB;
const day = 24 * 60 * 60 * 1000;

/** The WebSocket subprotocol. */
export const subprotocol = 'signalbox.v1';
/** The version of the protocol, as `hello.protocol` states it. */
export const protocolVersion = 1;

/** Bounds of single frames. They belong to the protocol and are the same for every broker. Lengths are in UTF-16 units. */
export const frameLimits = {
  headerLength: 16 * KiB,
  tokenLength: 8 * KiB,
  traceparentLength: 128,
  groupKeyLength: 64,
  /** Sequence numbers in one `ack`, `nack` or `working`. */
  seqs: 10_000,
  /** Messages that one subscription may have pushed to it and not settled. */
  windowMessages: 10_000,
  /** Generations that one `subscribe` names as previous ones of its journal. */
  journalGenerations: 16,
  minAckDeadlineMs: 100,
  maxAckDeadlineMs: 60 * 60 * 1000,
  nackDelayMs: day,
  nackReasonLength: 500,
  consumerIdLength: 64,
  /** The status of an `announce`, written as JSON. */
  statusLength: 2 * KiB,
  /** The text in which an `announce` tells how a program failed. */
  failedLength: 500,
  cursorLength: 256,
  peekMessages: 1000,
  /** Requests that one `find` asks about. With the longest names they fit into a header. */
  findRequests: 64,
  /** Agents, and tokens, that one `check_tokens` asks about. */
  checkedTokens: 256,
  followedAgents: 256,
  auditDetailLength: 500,
  /** Events in one `audit`. */
  auditEvents: 256,
  /** The age up to which an event keeps its time. An older one gets this age. */
  auditAgoMs: day,
  /** The longest life of a token, and of a hold that ends by itself: 100 years. */
  lifetimeMs: 36_500 * day,
  /** The latest time that can be written as a date, in epoch milliseconds. */
  latestTime: 8_640_000_000_000_000,
  /** Calls in one `lane_calls`. */
  laneCalls: 64,
  opLength: 64,
  /** Entries of one page of an `admin` operation, and sequence numbers that one names. */
  adminItems: 1000,
  adminTextLength: 256,
  holdReasonLength: 500,
  /** A path that an `admin` operation names. */
  pathLength: 4096,
} as const;

/** The values that a broker uses for fields that a frame leaves out. */
export const frameDefaults = {
  /** The lifetime of a message: 7 days. */
  ttlMs: 7 * day,
  windowMessages: 64,
  /** The window of a member of a group: it works on one message at a time. */
  groupWindowMessages: 1,
  windowBytes: 8 * MiB,
  peekMessages: 100,
} as const;
