import { hostRole, isPrivileged } from '../names/privileged-roles.ts';
import { frameLimits } from './frame-limits.ts';

const KiB = 1024;
const MiB = 1024 * KiB;
const minute = 60 * 1000;
const hour = 60 * minute;
const day = 24 * hour;

/** One limit of a broker. */
export interface LimitEntry {
  readonly default: number;
  /** The default for the roles `operator` and `orchestrator`, if it differs. */
  readonly privileged?: number;
  /** The default for the role `host`, if it differs. */
  readonly host?: number;
  /** The smallest value that an operator may set. Default: 1. */
  readonly min?: number;
  /** The largest value that an operator may set. Default: the largest safe integer. */
  readonly max?: number;
  /** A sentence that stands in the configuration's schema, in the guide and on the page of the protocol. */
  readonly meaning: string;
  /** True if a role may have its own value. */
  readonly perRole?: true;
}

/**
 * The limits that a broker enforces. The path of a limit is the same here, in `broker.limits` and `roles.X.limits` of the
 * configuration, in `welcome.limits`, and in the texts of errors: `connections.total`.
 */
export const limitTable = {
  connections: {
    total: { default: 4096, meaning: 'Connections at a time.' },
    reserved: {
      default: 32,
      min: 0,
      meaning: 'Connections of the total that are kept for operators and orchestrators.',
    },
    perAgent: {
      default: 16,
      privileged: 1024,
      perRole: true,
      meaning: 'Connections of one agent, over all its tokens, and of one minting token.',
    },
    perMinter: {
      default: 1024,
      perRole: true,
      meaning: 'Connections of all agents together that have their token from one minting token.',
    },
    unauthenticated: {
      default: 1024,
      meaning:
        'Connections at a time that have not said `hello` yet, whether they are WebSockets or not. The oldest one is closed for a newer one.',
    },
    handshakes: {
      default: 200,
      meaning:
        'TLS handshakes that are begun a second. More of them wait, in turns by the addresses of their clients.',
    },
    helloMs: {
      default: 5000,
      min: 100,
      max: hour,
      meaning: 'The time in which a connection must say `hello`, in milliseconds.',
    },
    heartbeatMs: {
      default: 15_000,
      min: 1000,
      max: hour,
      meaning:
        'The longest time between two pings, in milliseconds. A connection that gives no sign of life for two of them is ended.',
    },
  },
  message: {
    bytes: {
      default: 4 * MiB,
      max: 32 * MiB,
      meaning: 'Bytes of one body.',
    },
    frameBytes: {
      default: 4 * MiB + 64 * KiB,
      min: 1024,
      max: 64 * MiB,
      meaning: 'Bytes of one WebSocket message, at least 16 KiB more than `message.bytes`.',
    },
    recipients: {
      default: 1000,
      max: 10_000,
      meaning: 'Members of a group to which one message may be sent with `all`.',
    },
    recipientBytes: {
      default: 64 * MiB,
      max: 512 * MiB,
      meaning: 'Bytes of the bodies of all these copies together.',
    },
    ttlMs: { default: 30 * day, meaning: 'The longest lifetime of a message, in milliseconds.' },
    scheduledMs: {
      default: 60 * day,
      meaning:
        'The longest time from the sending of a message with `not_before_ms` to the end of its lifetime, in milliseconds.',
    },
    attempts: {
      default: 5,
      max: 1000,
      meaning: 'Failed attempts after which a message becomes a dead letter.',
    },
  },
  rates: {
    messages: {
      default: 2000,
      privileged: 1_000_000,
      host: 20_000,
      perRole: true,
      meaning: 'Messages of one agent a second, in the long run.',
    },
    messagesBurst: {
      default: 4000,
      privileged: 1_000_000,
      host: 40_000,
      perRole: true,
      meaning: 'Messages of one agent at once.',
    },
    bytes: {
      default: 8 * MiB,
      privileged: 1024 * MiB,
      host: 128 * MiB,
      perRole: true,
      meaning:
        'Bytes that one agent sends a second, in the long run. Beyond them its connections are read later.',
    },
    bytesBurst: {
      default: 8 * MiB,
      privileged: 1024 * MiB,
      host: 128 * MiB,
      perRole: true,
      meaning: 'Bytes that one agent sends at once.',
    },
    frames: {
      default: 10_000,
      privileged: 10_000_000,
      host: 200_000,
      perRole: true,
      meaning:
        'Cost of the frames of one agent a second, in the long run: each type has a cost, and a refusal costs more. Beyond it its connections are read later.',
    },
    framesBurst: {
      default: 10_000,
      privileged: 10_000_000,
      host: 200_000,
      perRole: true,
      meaning: 'Cost of the frames of one agent at once.',
    },
    perMinter: {
      default: 4,
      perRole: true,
      meaning:
        'How many times these rates all agents together use that have their token from one minting token.',
    },
  },
  inbox: {
    messages: {
      default: 50_000,
      meaning:
        'Messages that wait in one inbox. The limit for all inboxes of an agent, `recipient.messages`, is lower by default and then reached first.',
    },
    bytes: { default: 256 * MiB, meaning: 'Bytes that wait in one inbox.' },
  },
  recipient: {
    messages: {
      default: 10_000,
      meaning: 'Messages and dead letters for one agent, in its inbox and all its sub-inboxes.',
    },
    bytes: { default: 256 * MiB, meaning: 'Bytes of them.' },
  },
  privilegedRecipient: {
    messages: {
      default: 50_000,
      meaning:
        'The same for an operator or an orchestrator, to which a whole fleet writes. It holds where it is higher than `recipient.messages`.',
    },
    bytes: { default: 256 * MiB, meaning: 'Bytes of them.' },
  },
  sender: {
    messages: {
      default: 10_000,
      privileged: Number.MAX_SAFE_INTEGER,
      perRole: true,
      meaning:
        'Messages and dead letters of one agent in all inboxes. Replies to open requests do not count.',
    },
    bytes: {
      default: 256 * MiB,
      privileged: Number.MAX_SAFE_INTEGER,
      perRole: true,
      meaning: 'Bytes of them.',
    },
  },
  senderToRecipient: {
    messages: {
      default: 1000,
      privileged: Number.MAX_SAFE_INTEGER,
      perRole: true,
      meaning:
        'Messages of one agent that wait for another one, in its inbox and all its sub-inboxes: no more than it leaves of `recipient` to other senders. Replies to open requests do not count.',
    },
    bytes: {
      default: 32 * MiB,
      privileged: Number.MAX_SAFE_INTEGER,
      perRole: true,
      meaning: 'Bytes of them.',
    },
  },
  deadLetters: {
    messages: { default: 10_000, meaning: 'Dead letters that are kept.' },
    bytes: { default: 256 * MiB, meaning: 'Bytes of them.' },
    messagesPerAgent: {
      default: 2000,
      meaning:
        'Dead letters that are kept of one sender, and for one recipient. Of more, the oldest of the sender with the most are dropped.',
    },
    bytesPerAgent: { default: 64 * MiB, meaning: 'Bytes of them.' },
    ageMs: { default: 30 * day, meaning: 'The time after which a dead letter is dropped, in milliseconds.' },
  },
  settled: {
    ageMs: {
      default: day,
      meaning: 'The time for which the history remembers settled messages, in milliseconds.',
    },
    bytes: {
      default: 512 * MiB,
      meaning: 'Bytes of them, as they are stored. Of more, the oldest are forgotten sooner.',
    },
    repeatMs: {
      default: 10 * minute,
      min: minute,
      max: day,
      meaning:
        'The time for which they are remembered in any case, in milliseconds: a message that its sender repeats within it is stored once.',
    },
  },
  audit: {
    changeBytes: {
      default: 1024 * MiB,
      min: MiB,
      meaning:
        'Bytes of the audit log for changes of tokens, rules and servers. They are never dropped: beyond these bytes, minting tokens issue no more tokens.',
    },
    callBytes: {
      default: 256 * MiB,
      min: MiB,
      meaning: 'Bytes for tool calls. As of all that follow, the oldest are dropped for newer ones.',
    },
    readBytes: { default: 32 * MiB, min: MiB, meaning: 'Bytes for reads by operators and observers.' },
    connectBytes: { default: 32 * MiB, min: MiB, meaning: 'Bytes for connections.' },
    refusalBytes: { default: 64 * MiB, min: MiB, meaning: 'Bytes for refusals.' },
    lossBytes: {
      default: 32 * MiB,
      min: MiB,
      meaning: 'Bytes for dead letters that were dropped, and damage.',
    },
  },
  tokens: {
    perMinter: {
      default: 1000,
      perRole: true,
      meaning: 'Tokens of one minting token that are valid at a time.',
    },
    mintedPerMinute: {
      default: 1000,
      perRole: true,
      meaning: 'Tokens that one minting token issues a minute.',
    },
  },
  store: {
    bytes: { default: 8 * 1024 * MiB, meaning: 'Bytes of all that is stored.' },
    reservePercent: {
      default: 10,
      min: 0,
      max: 90,
      meaning:
        'The part that is kept for replies to open requests and for messages of the broker, operators and orchestrators: of `store.bytes`, and of what may wait in one inbox or for one recipient.',
    },
  },
  webhooks: {
    bytes: { default: MiB, max: MiB, meaning: 'Bytes of the body of one request to a webhook.' },
    bodies: {
      default: 64,
      meaning:
        'Requests to webhooks at a time whose bodies are read or stored: together at most so many times `webhooks.bytes` in memory.',
    },
    bodiesPerHook: { default: 32, meaning: 'Those of one webhook.' },
    bodiesPerAddress: { default: 16, meaning: 'Those of one client address.' },
    requestsPerAddress: {
      default: 50,
      meaning: 'Requests of one client address to webhooks a second, in the long run; twice as many at once.',
    },
    bytesPerSecond: {
      default: 16 * MiB,
      meaning: 'Bytes of bodies that are read per second. Bytes beyond that are read later.',
    },
    bytesPerAddress: { default: 4 * MiB, meaning: 'Those of one client address.' },
  },
  liveLane: {
    messages: { default: 256, meaning: 'Ephemeral messages that wait for one connection.' },
  },
} as const satisfies Record<string, Record<string, LimitEntry>>;

type Table = typeof limitTable;

/** A group of limits, such as `connections`. */
export type LimitGroup = keyof Table;

/** The value of every limit, under the groups and names of {@link limitTable}. */
export type Limits = {
  readonly [Group in LimitGroup]: { readonly [Name in keyof Table[Group]]: number };
};

/** Values that replace some of the limits. */
export type LimitOverrides = {
  readonly [Group in LimitGroup]?: { readonly [Name in keyof Table[Group]]?: number | undefined } | undefined;
};

/** The default limits of a broker. */
export const defaultLimits: Limits = withOverrides(({ default: value }) => value);

/**
 * Returns the limits of one role: the role's own value comes first, then the default of a role of the system, then the value for all
 * roles, then the default. Without a role, returns the limits of a role that has no values of its own.
 */
export function limitsOf(
  role: string | undefined,
  forAll: LimitOverrides = {},
  ofRole: LimitOverrides = {},
): Limits {
  const limits = withOverrides(
    (entry, group, name) =>
      valueAt(ofRole, group, name) ??
      (role === undefined ? undefined : systemDefault(entry, role)) ??
      valueAt(forAll, group, name) ??
      entry.default,
  );
  const { message } = limits;
  return {
    ...limits,
    message: { ...message, frameBytes: Math.max(message.frameBytes, leastFrame(message)) },
  };
}

/** Returns the default of a limit for a role of the system, if it differs from that of other roles. */
export function systemDefault({ privileged, host }: LimitEntry, role: string): number | undefined {
  return isPrivileged(role) ? privileged : role === hostRole ? host : undefined;
}

/** Returns the bytes of a WebSocket message that holds the longest header and the largest body. */
function leastFrame({ bytes }: Pick<Limits['message'], 'bytes'>): number {
  return bytes + frameLimits.headerLength;
}

function withOverrides(value: (entry: LimitEntry, group: string, name: string) => number): Limits {
  return Object.fromEntries(
    Object.entries<Record<string, LimitEntry>>(limitTable).map(([group, entries]) => [
      group,
      Object.fromEntries(Object.entries(entries).map(([name, entry]) => [name, value(entry, group, name)])),
    ]),
  ) as unknown as Limits;
}

function valueAt(overrides: LimitOverrides, group: string, name: string): number | undefined {
  return (overrides as Record<string, Record<string, number | undefined> | undefined>)[group]?.[name];
}
