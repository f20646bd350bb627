const KiB = 1024;
const MiB = 1024 * KiB;
const day = 24 * 60 * 60 * 1000;

/** The WebSocket subprotocol. */
export const subprotocol = 'signalbox.v1';
/** The version of the protocol, as `hello.protocol` states it. */
export const protocolVersion = 1;

/**
 * The limits that a broker enforces and states in `welcome.limits`, with their defaults. An operator may change them. The schema of
 * `welcome`, the store's caps and the page of the protocol come from this table.
 */
export const brokerLimits = {
  maxConnections: { default: 4096, meaning: 'Connections at a time.' },
  maxUnauthenticated: {
    default: 256,
    meaning:
      'Connections at a time that have not said `hello` yet. The oldest one is closed for a newer one.',
  },
  maxMessageBytes: { default: 4 * MiB, meaning: 'Bytes of one body.' },
  maxFrameBytes: { default: 4 * MiB + 64 * KiB, meaning: 'Bytes of one WebSocket message.' },
  deliverPerSecond: { default: 2000, meaning: 'Delivers of one worker a second, in the long run.' },
  deliverBurst: { default: 4000, meaning: 'Delivers of one worker at once.' },
  maxInboxMessages: { default: 50_000, meaning: 'Messages that wait in one inbox.' },
  maxInboxBytes: { default: 256 * MiB, meaning: 'Bytes that wait in one inbox.' },
  maxPendingPerSender: { default: 1000, meaning: 'Messages of one sender that wait in one inbox.' },
  maxTotalBytes: { default: 8 * 1024 * MiB, meaning: 'Bytes of all stored messages.' },
  maxTtlMs: { default: 30 * day, meaning: 'The longest lifetime of a message, in milliseconds.' },
  liveLaneMessages: { default: 256, meaning: 'Ephemeral messages that wait for one connection.' },
} as const satisfies Record<string, { default: number; meaning: string }>;

/** The limits of one broker, under the names of {@link brokerLimits}, which gives the meaning and the unit of each. */
export type Limits = { [Name in keyof typeof brokerLimits]: number };

/** The limits of a broker whose operator changed none. */
export const defaultLimits = Object.fromEntries(
  Object.entries(brokerLimits).map(([name, limit]) => [name, limit.default]),
) as Limits;

/** Bounds of single frames. They belong to the protocol and are the same for every broker. Lengths are in UTF-16 units. */
export const frameLimits = {
  headerLength: 16 * KiB,
  tokenLength: 256,
  traceparentLength: 128,
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
  /** The status of an `announce`, written as JSON. */
  statusLength: 2 * KiB,
  cursorLength: 256,
  peekMessages: 1000,
  opLength: 64,
  /** Entries of one page of an `admin` operation, and sequence numbers that one names. */
  adminItems: 1000,
  adminTextLength: 256,
} as const;

/** The values that a broker takes for fields that a frame leaves out. */
export const frameDefaults = {
  /** The lifetime of a message: 7 days. */
  ttlMs: 7 * day,
  windowMessages: 64,
  windowBytes: 8 * MiB,
  peekMessages: 100,
} as const;

/**
 * The bounds of JSON in message bodies, the same for every reader. `maxLength` is in UTF-16 units, `maxDepth` counts nested arrays
 * and objects, and `maxNodes` counts values, names and containers: parsed, a node takes up to 40 bytes.
 */
export const bodyLimits = {
  maxLength: defaultLimits.maxMessageBytes,
  maxDepth: 64,
  maxNodes: 250_000,
} as const;
