import { faultPoints } from '@signalbox/serving';
import { describe, expect, test } from 'vitest';
import { brokenPromises, none } from './broken-promises.ts';
import { runCampaign } from './campaign.ts';
import { killCards, type RunPlan, runPlans } from './plan.ts';

describe('kill -9 of broker, orchestrator, worker and MCP server', () => {
  test('Each call ends once, nothing with a receipt is lost and no unsafe tool runs twice, no matter which process is killed where.', async () => {
    // One round in two fleets has every way to die once. `npm run test:faults` runs further rounds.
    const half = Math.ceil(killCards.length / 2);
    const plans = [
      runPlans(1, 2).take(half),
      runPlans(1, 2)
        .drop(half)
        .take(killCards.length - half),
    ];
    const reports = await Promise.all(
      plans.map((part) => runCampaign({ plans: part, runs: half, workers: 2 })),
    );
    for (const report of reports) {
      expect(brokenPromises(report)).toEqual(none);
      expect(report.verdict.results).toBeGreaterThan(report.verdict.calls / 2);
    }
    const kills = reports.flatMap((report) => report.kills);
    expect(kills.length).toBeGreaterThanOrEqual(killCards.length);
    const killedAt = new Set(kills.map(({ victim, point }) => `${victim} ${point}`));
    for (const { victim, point = 'moment' } of killCards) expect(killedAt).toContain(`${victim} ${point}`);
    expect(new Set(killCards.map(({ point }) => point))).toEqual(new Set([...faultPoints, undefined]));
  });

  const kill: RunPlan = {
    kill: { victim: 'orchestrator', point: 'orchestrator.call.returned', n: 1, worker: 0 },
    work: { count: 2, slow: 0, echo: 0, slowMs: 0 },
  };

  // That the oracle finds what it looks for is shown without processes, too: oracle.test.ts.
  test('Without its journal the orchestrator repeats what it did, and the campaign says so; with it, it does not.', async () => {
    const [without, withJournal] = await Promise.all(
      [false, true].map((journal) => runCampaign({ plans: [kill], runs: 1, workers: 1, journal })),
    );
    expect(without!.kills).toMatchObject([{ victim: 'orchestrator' }]);
    expect(without!.verdict.doubledCalls).not.toEqual([]);
    expect(withJournal!.kills).toMatchObject([{ victim: 'orchestrator' }]);
    expect(brokenPromises(withJournal!)).toEqual(none);
    expect(withJournal!.verdict.typed).toMatchObject({ outcome_unknown: expect.any(Number) });
  });
});
