import { expect, test } from 'vitest';
import { killCards, runPlans } from './plan.ts';

test('One seed gives one campaign, another seed another, and each round kills in every way once.', () => {
  const plans = (seed: number) =>
    runPlans(seed, 3)
      .take(2 * killCards.length)
      .toArray();
  expect(plans(7)).toEqual(plans(7));
  expect(plans(7)).not.toEqual(plans(8));
  const ways = (round: number) =>
    plans(7)
      .slice(round * killCards.length, (round + 1) * killCards.length)
      .map(({ kill }) => `${kill.victim} ${kill.point}`);
  const every = killCards.map(({ victim, point }) => `${victim} ${point}`).sort();
  expect(ways(0).toSorted()).toEqual(every);
  expect(ways(1).toSorted()).toEqual(every);
  expect(ways(0)).not.toEqual(ways(1));
});
