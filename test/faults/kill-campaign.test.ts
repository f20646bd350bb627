import { expect, test } from 'vitest';
import { brokenPromises, none } from './broken-promises.ts';
import { runCampaign } from './campaign.ts';
import { type KillPlan, runPlans } from './plan.ts';

/** A death of each process, where it costs most if a promise does not hold. Every other way to die: kill-campaign.long.test.ts. */
const kills: Pick<KillPlan, 'victim' | 'point'>[] = [
  { victim: 'broker', point: 'broker.receipt.before' },
  { victim: 'orchestrator', point: 'orchestrator.call.returned' },
  { victim: 'server', point: 'orchestrator.call.sent' },
  { victim: 'worker' },
];

test('Each call ends once, nothing with a receipt is lost and no unsafe tool runs twice, whichever process is killed.', async () => {
  const plans = runPlans(1, 2)
    .filter(({ kill }) => kills.some(({ victim, point }) => victim === kill.victim && point === kill.point))
    .take(kills.length);
  const report = await runCampaign({ plans, runs: kills.length, workers: 2 });
  expect(brokenPromises(report)).toEqual(none);
  expect(report.verdict.results).toBeGreaterThan(report.verdict.calls / 2);
  expect(new Set(report.kills.map(({ victim }) => victim))).toEqual(
    new Set(kills.map(({ victim }) => victim)),
  );
});
