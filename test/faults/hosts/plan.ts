import { seededRandom } from '../plan.ts';

/** The kinds of events: the number of each in one round, and what happens. */
export const hostEventKinds = {
  'kill broker': { each: 3, meaning: 'kill -9 of one of three brokers' },
  'end broker': { each: 1, meaning: 'SIGTERM of one broker' },
  'stop broker': { each: 1, meaning: 'SIGSTOP of one broker for 1 to 12 s' },
  'kill all brokers': { each: 1, meaning: 'kill -9 of all brokers' },
  'kill hub': { each: 2, meaning: 'kill -9 of an orchestrator without a label' },
  'kill gpu': { each: 3, meaning: 'kill -9 of an orchestrator with the label gpu' },
  'stop gpu': { each: 1, meaning: 'SIGSTOP of one with the label gpu for 1 to 12 s' },
  'end gpu': { each: 1, meaning: 'SIGTERM of one with the label gpu' },
  'kill lab': { each: 2, meaning: 'kill -9 of the only one with the label lab' },
  'end lab': { each: 1, meaning: 'SIGTERM of the only one with the label lab' },
  'cut lab off': { each: 2, meaning: 'the network of lab is down for 1 to 12 s' },
  'cut gpu off': { each: 1, meaning: 'the network of one with the label gpu is down for 1 to 12 s' },
  'kill database': { each: 1, meaning: 'PostgreSQL stopped with immediate, and started' },
  'restart database': { each: 1, meaning: 'PostgreSQL stopped with fast, and started' },
  'cut database off': { each: 1, meaning: 'brokers and journals cut off from PostgreSQL for 1 to 12 s' },
} as const;

export type HostEventKind = keyof typeof hostEventKinds;

/** One event that the seed chose. */
export interface HostEvent {
  kind: HostEventKind;
  /** Chooses the process among those of its kind. */
  which: number;
  delayMs: number;
  /** The time after which its cause is removed, in milliseconds. */
  lengthMs: number;
}

/** The events of a run. A seed decides all of them. */
export function* hostEvents(seed: number, events: number): Generator<HostEvent> {
  const random = seededRandom(seed);
  const deck = (Object.keys(hostEventKinds) as HostEventKind[]).flatMap((kind) =>
    Array.from({ length: hostEventKinds[kind].each }, () => kind),
  );
  let round: HostEventKind[] = [];
  for (let event = 0; event < events; event++) {
    if (round.length === 0) round = deck.toSorted(() => random() - 0.5);
    yield {
      kind: round.pop()!,
      which: Math.floor(random() * 6),
      delayMs: Math.floor(random() * 60),
      lengthMs: 1_000 + Math.floor(random() * 11_000),
    };
  }
}
