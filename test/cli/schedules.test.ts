import { startTestBroker } from '@signalbox/testing';
import { expect, test } from 'vitest';
import { jsonOf, signalbox } from '../support/cli/command-line.ts';

test('An operator sees the next and the last run of each schedule.', async () => {
  const hour = 3_600_000;
  await using broker = await startTestBroker({
    schedules: {
      morning: { cron: '0 9 * * 1-5', timeZone: 'Europe/Oslo', to: 'rosa', kind: 'task', text: 'look' },
      pulse: { everyMs: hour, to: 'rosa', kind: 'note', text: 'tick' },
    },
  });
  const list = (...args: string[]) => signalbox(['schedules', 'list', '--data', broker.dataDir, ...args]);
  const next = (Math.floor(Date.now() / hour) + 1) * hour;
  expect(jsonOf(await list('--json'))).toMatchObject({
    schedules: [
      { name: 'morning', to: 'rosa', kind: 'task', cron: '0 9 * * 1-5', time_zone: 'Europe/Oslo' },
      { name: 'pulse', kind: 'note', every_ms: hour, next_at: expect.toSatisfy((at) => at >= next) },
    ],
  });
  expect((await list()).stdout).toMatch(
    /^NAME +TO +KIND +RUNS +NEXT RUN +LAST RUN\nmorning +rosa +task +0 9 \* \* 1-5 \(Europe\/Oslo\) +\S+Z, in .+ -\n/,
  );
});
