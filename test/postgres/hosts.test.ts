import { expect, test } from 'vitest';
import { runHostCampaign } from '../faults/hosts/campaign.ts';

test('Hosts that are killed, stopped or cut off lose, double and deny no call, and one of a label takes over.', async () => {
  const kinds = ['kill gpu', 'end lab', 'end gpu', 'cut lab off', 'kill hub', 'cut database off'] as const;
  const report = await runHostCampaign({
    events: kinds.map((kind) => ({ kind, which: 0, delayMs: 20, lengthMs: 4_000 })),
    agents: 12,
    onEvent: () => {},
    signal: new AbortController().signal,
  });
  expect(report.faults).toEqual([]);
  expect(report.events.map(({ callsMs }) => Object.keys(callsMs))).toEqual(
    kinds.map(() => ['near', 'gpu', 'lab']),
  );
});
