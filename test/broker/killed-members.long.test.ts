import { startTestBroker } from '@signalbox/testing';
import { expect, it } from 'vitest';
import { seededRandom } from '../faults/plan.ts';
import { keyOf, runKilledMembers } from '../support/groups/killed-members.ts';

it('settles each task of a group once, and keeps the order of keys, while members are killed', async () => {
  await using broker = await startTestBroker({ roles: ['crawler'], limits: { message: { attempts: 100 } } });
  const keys = 3;
  const { replies, killed, left } = await runKilledMembers(broker, {
    ...{ tasks: 150, members: 3, keys, window: 2, taskMs: 60, everyMs: 50 },
    random: seededRandom(1),
  });
  expect(killed + left).toBeGreaterThan(0);
  const done = replies.map(({ id }) => Number(id.slice(1)));
  expect(done.toSorted((a, b) => a - b)).toEqual(Array.from({ length: 150 }, (_, task) => task));
  for (let key = 0; key < keys; key++) {
    const ofKey = done.filter((task) => keyOf(task, keys) === `k${key}`);
    expect(ofKey).toEqual(ofKey.toSorted((a, b) => a - b));
  }
});
