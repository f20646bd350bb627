import { seededRandom } from '../plan.ts';

/** The kinds of events: the number of each in one round, and what happens. */
export const eventKinds = {
  kill: { each: 4, meaning: 'kill -9 of one broker' },
  'kill both': { each: 1, meaning: 'kill -9 of both brokers' },
  terminate: { each: 1, meaning: 'SIGTERM of one broker' },
  pause: { each: 1, meaning: 'SIGSTOP of one broker for less than its lease, and SIGCONT' },
  stop: { each: 2, meaning: 'SIGSTOP of one broker for more than its lease, and SIGCONT' },
  'end connections': { each: 3, meaning: 'pg_terminate_backend on every connection' },
  'restart database': { each: 2, meaning: 'PostgreSQL stopped with immediate, and started' },
  'power cut': {
    each: 1,
    meaning:
      'PostgreSQL stopped with immediate, and its files but for its log set back to its last checkpoint',
  },
  'cut off': { each: 2, meaning: 'one broker cut off from the database only, and healed' },
  clock: { each: 2, meaning: 'the clock of one broker off by an hour, and set right' },
  'kill orchestrator': { each: 2, meaning: 'kill -9 of the orchestrator' },
} as const;

export type EventKind = keyof typeof eventKinds;

/** One event that the seed chose. */
export interface FaultEvent {
  kind: EventKind;
  /** True if the event strikes the broker that holds the inbox of the orchestrator, and false for the other one. */
  at: 'holder' | 'other';
  /** The time from the load to the event, in milliseconds. */
  delayMs: number;
  /** The time after which its cause is removed, as a part of the longest time. */
  length: number;
  /** True for a cut that keeps connections open and passes nothing on. */
  isSilent: boolean;
  /** The error of the clock, in hours. */
  hours: 1 | -1;
  /** True if an operator makes the broker accept the wrong clock. */
  isTrusted: boolean;
  /** The mailboxes whose sender, and whose reader, connect to another broker before. */
  moves: { sender: boolean; reader: boolean }[];
  /** The calls of each worker. */
  calls: { count: number; slow: number; echo: number; slowMs: number };
  /** True if the brokers have the default lease and heartbeat. */
  isAtDefaults: boolean;
}

export interface PlanOptions {
  seed: number;
  events: number;
  /** The number of events at the end for which the brokers have the default lease and heartbeat. */
  atDefaults: number;
  mailboxes: number;
}

const deck = (Object.keys(eventKinds) as EventKind[]).flatMap((kind) =>
  Array.from({ length: eventKinds[kind].each }, () => kind),
);
/** Those that depend on the lease and the heartbeat, and some others. */
const deckAtDefaults: readonly EventKind[] = ['stop', 'cut off', 'kill', 'stop', 'cut off', 'stop'];

/** The events of a run. A seed decides all of them. */
export function* faultEvents({ seed, events, atDefaults, mailboxes }: PlanOptions): Generator<FaultEvent> {
  const random = seededRandom(seed);
  const below = (limit: number): number => Math.floor(random() * limit);
  const shuffled = (kinds: readonly EventKind[]): EventKind[] =>
    kinds
      .map((kind) => ({ kind, at: random() }))
      .sort((a, b) => a.at - b.at)
      .map(({ kind }) => kind);
  let round: EventKind[] = [];
  for (let event = 0; event < events; event++) {
    const isAtDefaults = event >= events - atDefaults;
    if (!isAtDefaults && round.length === 0) round = shuffled(deck);
    const kind = isAtDefaults
      ? deckAtDefaults[(event - events + atDefaults) % deckAtDefaults.length]!
      : round.pop()!;
    yield {
      kind,
      at: random() < 0.75 ? 'holder' : 'other',
      delayMs: below(60),
      length: random(),
      isSilent: random() < 0.5,
      hours: random() < 0.5 ? 1 : -1,
      isTrusted: random() < 0.5,
      moves: Array.from({ length: mailboxes }, () => ({
        sender: random() < 0.5,
        reader: random() < 0.5,
      })),
      calls: { count: 1 + below(3), slow: 1, echo: 1 + below(2), slowMs: 20 + below(60) },
      isAtDefaults,
    };
  }
}
