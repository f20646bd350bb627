import { expect, it } from 'vitest';
import { startNeighbours } from '../support/neighbours/neighbours.ts';

it('a sender that stores as fast as it can is stopped at the default figures, while an honest pair goes on', async () => {
  // Its rate in bytes would stop it sooner. A second connection would send the same ids, whose receipts count as well.
  const limits = { rates: { bytes: 1e9, bytesBurst: 1e9 } };
  await using neighbours = await startNeighbours({ limits, connections: 1 });
  for (const [flood, most] of [
    ['notes to everybody', 1000],
    ['notes of 4 MB', 8],
  ] as const) {
    const { honest, greedy } = await neighbours.askDuring(flood, 20, { until: 'quota_exceeded' });
    expect(honest.refused).toBe(0);
    expect(honest.served).toBeGreaterThanOrEqual(20);
    expect(greedy.answers.quota_exceeded).toBeGreaterThan(0);
    expect(greedy.answers.delivered).toBeGreaterThan(0);
    expect(greedy.answers.delivered).toBeLessThanOrEqual(most);
  }
});
