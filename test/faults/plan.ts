import { faultPoints } from '@signalbox/serving';

export type Victim = 'broker' | 'orchestrator' | 'worker' | 'server';

/** The victim of a run and its moment of death: the n-th passing of a named point, or the end of the n-th call. */
export interface KillPlan {
  victim: Victim;
  /** The named point; absent if the victim dies when n calls have ended. */
  point?: string;
  n: number;
  /** The worker's number, if the victim is a worker. */
  worker: number;
}

/** The mix of calls in a run, per worker. */
export interface WorkPlan {
  count: number;
  slow: number;
  echo: number;
  slowMs: number;
}

export interface RunPlan {
  kill: KillPlan;
  work: WorkPlan;
}

/** Returns a generator of numbers in [0, 1) that a seed decides (mulberry32). */
export function seededRandom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** The points at which a hosted server dies: a call is about to be sent, sent, or answered. A server has no points of its own. */
const serverPoints = ['orchestrator.journal.started', 'orchestrator.call.sent', 'orchestrator.call.returned'];
const victims = ['broker', 'orchestrator', 'worker', 'server'] as const;

/** All ways to kill: every named point, the server at three of them, and any moment for each victim. */
export const killCards: readonly Pick<KillPlan, 'victim' | 'point'>[] = [
  ...faultPoints.map((point) => ({ victim: point.split('.')[0] as Victim, point })),
  ...serverPoints.map((point) => ({ victim: 'server' as const, point })),
  ...victims.map((victim) => ({ victim })),
];

/**
 * The runs of a campaign, without end. Each round goes through all cards in an order of its own; in the first
 * round every point strikes at its first passing, so that none is missed.
 */
export function* runPlans(seed: number, workers: number): Generator<RunPlan, never> {
  const random = seededRandom(seed);
  const below = (limit: number): number => Math.floor(random() * limit);
  for (let round = 0; ; round++) {
    const deck = killCards.map((card) => ({ card, at: random() })).sort((a, b) => a.at - b.at);
    for (const { card } of deck) {
      const isFirst = round === 0 && card.point !== undefined;
      yield {
        kill: { ...card, n: isFirst ? 1 : 1 + below(4), worker: below(workers) },
        work: { count: 2 + below(3), slow: 1 + below(2), echo: 1 + below(2), slowMs: 20 + below(60) },
      };
    }
  }
}
