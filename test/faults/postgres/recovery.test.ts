import { expect, test } from 'vitest';
import { Recovery } from './recovery.ts';

test('A client has recovered when it has done something that it began after the event had its effect.', async () => {
  const recovery = new Recovery(['ann', 'bob'], 1000);
  recovery.succeeded('ann', 1001, 1002);
  recovery.struck(1010);
  recovery.succeeded('ann', 1009, 1020);
  expect([...recovery.waiting]).toEqual(['ann', 'bob']);
  recovery.succeeded('ann', 1010, 1030);
  recovery.succeeded('ann', 1010, 1500);
  recovery.succeeded('bob', 1011, 1040);
  await recovery.over(60_000);
  expect([...recovery.sinceEvent]).toEqual([
    ['ann', 30],
    ['bob', 40],
  ]);
});

test('The time since the loss begins when the client, or one that it needs, has noticed that its connection is lost.', () => {
  const recovery = new Recovery(['ann', 'bob', 'eve'], 1000);
  recovery.struck(1000);
  recovery.lost('bob', 1100);
  recovery.lost('orchestrator', 1200);
  recovery.lost('orchestrator', 1400);
  recovery.succeeded('ann', 1050, 1500);
  recovery.succeeded('bob', 1150, 1500);
  recovery.succeeded('eve', 1150, 1500, ['orchestrator']);
  expect([...recovery.sinceLoss.values()]).toEqual([500, 400, 300]);
});
