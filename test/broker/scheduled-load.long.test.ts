import { tempDir } from '@signalbox/testing';
import { expect, it } from 'vitest';
import { runScheduled } from '../support/scheduled/scheduled-load.ts';

it('hands out two thousand messages after kill -9: each once, and none early', async () => {
  await using directory = await tempDir();
  const load = { messages: 2000, leadMs: 4000, spreadMs: 1000 };
  const { came, repeated, earliestMs } = await runScheduled(`${directory.path}/data`, load);
  expect({ came, repeated }).toEqual({ came: 2000, repeated: 0 });
  expect(earliestMs).toBeGreaterThanOrEqual(0);
});
