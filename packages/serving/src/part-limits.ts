import type { LimitEntry } from '@signalbox/protocol';
import { longestTimerMs } from './time-limit.ts';

const MiB = 1024 * 1024;
const minute = 60 * 1000;
const hour = 60 * minute;

/** The limits of HTTP faces and shared faces; the configuration has them under `worker.limits`. */
export const faceLimits = {
  agents: { default: 256, meaning: 'Agents that one face serves at a time.' },
  sessionsPerAgent: {
    default: 32,
    meaning:
      'Sessions of one agent at a face. One more puts the one to sleep that was idle longest, or is refused at a shared face.',
  },
  requestsPerAgent: {
    default: 128,
    meaning:
      'Requests of one agent that a face reads or answers at a time; at a shared face only tool calls count.',
  },
  requests: {
    default: 4096,
    meaning:
      'Requests of all agents that a face reads or answers at a time; at a shared face only tool calls count.',
  },
  idleConnections: {
    default: 256,
    meaning:
      'Connections to a face on which no request of a known agent is answered. The one that is idle longest is closed for a newer one.',
  },
  bodyBytes: { default: 4 * MiB, meaning: 'Bytes of one request to a face.' },
  bytesPerAgent: {
    default: 16 * MiB,
    meaning:
      'Bytes of one agent that a face holds: requests until they are answered, and at an HTTP face answers until they are read.',
  },
  bytes: { default: 64 * MiB, meaning: 'Bytes of all agents that a face holds.' },
  bytesPerSecond: {
    default: 8 * MiB,
    meaning:
      'Bytes of the requests of one agent that a face reads a second, in the long run; twice as many at once. Beyond them they are read later.',
  },
  unreadBytes: {
    default: 32 * MiB,
    meaning:
      'Bytes that wait at a shared face for the clients of one agent that do not read. Beyond them the connection for which most waits is ended.',
  },
  nodesPerAgent: {
    default: 250_000,
    meaning: 'JSON values and names in the bodies of one agent that an HTTP face holds.',
  },
  nodes: {
    default: 2_500_000,
    meaning: 'JSON values and names in the bodies of all agents that an HTTP face holds.',
  },
  agentIdleMs: {
    default: 10 * minute,
    min: 1000,
    max: longestTimerMs,
    meaning:
      'The time after which an HTTP face disconnects an agent without request, stream and session, in milliseconds.',
  },
  sessionIdleMs: {
    default: 30 * minute,
    min: 1000,
    max: longestTimerMs,
    meaning:
      'The time after which a session without request and stream sleeps at an HTTP face, in milliseconds.',
  },
} as const satisfies Record<string, LimitEntry>;

/** The values of {@link faceLimits}, which gives the meaning and the unit of each. */
export type FaceLimits = { [Name in keyof typeof faceLimits]: number };

/** The limits on the memory of the calls that an orchestrator holds; the configuration has them under `orchestrator.limits.calls`. */
export const callLimits = {
  bytesPerWorker: {
    default: 16 * MiB,
    meaning: 'Bytes of the requests of one worker that wait or run.',
  },
  bytes: { default: 60 * MiB, meaning: 'Bytes of the requests of all workers that wait or run.' },
  nodesPerWorker: {
    default: 100_000,
    meaning: 'JSON values and names in the requests of one worker that wait or run.',
  },
  nodes: {
    default: 1_000_000,
    meaning: 'JSON values and names in the requests of all workers that wait or run.',
  },
} as const satisfies Record<string, LimitEntry>;

/** The values of {@link callLimits}, which gives the meaning and the unit of each. */
export type CallSizeLimits = { [Name in keyof typeof callLimits]: number };

/**
 * The limits of a journal for settled calls, which it keeps so that a repeated request gets its reply; the configuration has them under
 * `orchestrator.limits.journal`. The oldest calls and replies are dropped first. Calls that are not settled stay.
 */
export const journalLimits = {
  ageMs: {
    default: 24 * hour,
    min: 10 * minute,
    meaning: 'The time for which the journal keeps settled calls, in milliseconds.',
  },
  calls: { default: 50_000, min: 1000, meaning: 'Calls in the journal.' },
  bytes: {
    default: 256 * MiB,
    meaning: 'Bytes of the replies in it that need not be kept for their requesters.',
  },
  keptAgeMs: {
    default: 24 * hour,
    meaning: 'The time for which replies are kept that their requesters may not have read, in milliseconds.',
  },
  keptPerAgent: { default: 1000, meaning: 'Kept replies to one agent.' },
  keptBytesPerAgent: { default: 64 * MiB, meaning: 'Bytes of them.' },
  keptBytes: {
    default: 1024 * MiB,
    meaning:
      'Bytes of these replies to all agents. Beyond it, replies to the agent with the most bytes are dropped.',
  },
  approvals: {
    default: 20_000,
    min: 1000,
    meaning: 'Approvals that have ended. Those that wait for a decision stay.',
  },
  approvalBytes: { default: 64 * MiB, meaning: 'Bytes of the arguments in them.' },
} as const satisfies Record<string, LimitEntry>;

/** The values of {@link journalLimits}, which gives the meaning and the unit of each. */
export type JournalLimits = { [Name in keyof typeof journalLimits]: number };

/** The default limits of a journal. */
export const defaultJournalLimits: JournalLimits = defaultsOf(journalLimits);

/**
 * The limits of the large results that an orchestrator keeps; the configuration has them under `orchestrator.limits.results`. No result is
 * deleted before its time: one that does not fit is not kept.
 */
export const resultLimits = {
  ageMs: {
    default: 24 * hour,
    min: minute,
    meaning: 'The time for which a large result is kept while an orchestrator runs, in milliseconds.',
  },
  perAgent: { default: 500, meaning: 'Results that are kept for one agent.' },
  bytesPerAgent: { default: 256 * MiB, meaning: 'Bytes of their files.' },
  perMinter: {
    default: 2000,
    meaning: 'Results that are kept for the agents of one minting token together.',
  },
  bytesPerMinter: { default: 1024 * MiB, meaning: 'Bytes of their files.' },
  results: { default: 4000, meaning: 'Results that are kept for all agents.' },
  bytes: {
    default: 2048 * MiB,
    meaning: 'Bytes of their files. One agent may have at most as much as is left for all others.',
  },
} as const satisfies Record<string, LimitEntry>;

/** The values of {@link resultLimits}, which gives the meaning and the unit of each. */
export type ResultLimits = { [Name in keyof typeof resultLimits]: number };

/** The default limits of kept results. */
export const defaultResultLimits: ResultLimits = defaultsOf(resultLimits);

/** The limits of the tasks of callers from outside; the configuration has them under `a2a.limits`. A new task beyond one is refused. */
export const a2aLimits = {
  tasksPerCaller: {
    default: 10_000,
    meaning: 'Tasks of one caller that are kept, those that have ended included.',
  },
  bytesPerCaller: { default: 256 * MiB, meaning: 'Bytes of their messages and answers.' },
  bytes: { default: 4096 * MiB, meaning: 'Bytes of the messages and answers of all callers.' },
} as const satisfies Record<string, LimitEntry>;

/** The values of {@link a2aLimits}, which gives the meaning and the unit of each. */
export type A2aLimits = { [Name in keyof typeof a2aLimits]: number };

/** The default limits of the tasks of callers from outside. */
export const defaultA2aLimits: A2aLimits = defaultsOf(a2aLimits);

/** The default limits of an HTTP face. */
export const defaultFaceLimits: FaceLimits = defaultsOf(faceLimits);

/** The default limits of an orchestrator's calls. */
export const defaultCallSizeLimits: CallSizeLimits = defaultsOf(callLimits);

function defaultsOf<Name extends string>(table: Readonly<Record<Name, LimitEntry>>): Record<Name, number> {
  const entries = Object.entries<LimitEntry>(table).map(([name, { default: value }]) => [name, value]);
  return Object.fromEntries(entries) as Record<Name, number>;
}
