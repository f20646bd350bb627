import { type Neighbours, startNeighbours } from './neighbours.ts';

/** Rates that a flood reaches at once, so that the test is short. The shape of the limits is that of the defaults. */
const rates = {
  ...{ messages: 200, messagesBurst: 400, frames: 2000, framesBurst: 2000 },
  ...{ bytes: 1_000_000, bytesBurst: 2_000_000, perMinter: 8 },
};

/** Starts an honest pair beside room for a greedy client, whose floods are soon at the limits. */
export function startGreedyNeighbours(): Promise<Neighbours> {
  return startNeighbours({
    limits: { rates, connections: { perAgent: 8 } },
    roleLimits: { crew: { rates: { perMinter: 2 } }, patient: { rates: { bytes: 100 } } },
  });
}
