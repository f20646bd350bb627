import { expect, test } from 'vitest';
import { coalesceRuns } from './coalesce-runs.ts';

test('Calls during a run share one more run, which begins after it.', async () => {
  let runs = 0;
  let running = 0;
  let most = 0;
  const gates: (() => void)[] = [];
  const once = coalesceRuns(async () => {
    runs++;
    most = Math.max(most, ++running);
    await new Promise<void>((resolve) => gates.push(resolve));
    running--;
  });
  const first = once();
  const others = [once(), once()];
  gates[0]!();
  await expect.poll(() => gates.length).toBe(2);
  gates[1]!();
  await Promise.all([first, ...others]);
  expect({ runs, most }).toEqual({ runs: 2, most: 1 });
  const again = once();
  gates[2]!();
  await again;
  expect(runs).toBe(3);
});
