import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Flood } from '../support/neighbours/floods.ts';
import { startGreedyNeighbours } from '../support/neighbours/greedy-neighbours.ts';
import type { Neighbours } from '../support/neighbours/neighbours.ts';

let neighbours: Neighbours;
beforeAll(async () => {
  neighbours = await startGreedyNeighbours();
});
afterAll(() => neighbours[Symbol.asyncDispose]());

const floods: [Flood, string][] = [
  ['notes of 4 MB', 'rate_limited'],
  ['replies to nothing', 'forbidden'],
  ['cancels of nothing', 'rate_limited'],
  ['peeks into its inbox', 'rate_limited'],
  ['lines that are no JSON', 'bad_frame'],
  ['acks of nothing', 'rate_limited'],
  ['subscriptions again and again', 'rate_limited'],
  ['WebSocket messages without a frame', 'rate_limited'],
  ['binary WebSocket messages', 'rate_limited'],
  ['connections with a wrong token', 'unauthorized'],
  ['issues of child tokens', 'rate_limited'],
  ['lists, from 16 children of one minting token', 'rate_limited'],
];

it.each(floods)('An honest pair is served beside a flood of %s.', async (flood, answer) => {
  const { honest } = await neighbours.askDuring(flood, 20, { until: answer });
  expect(honest.served).toBeGreaterThanOrEqual(20);
  expect(honest.refused).toBe(0);
});
