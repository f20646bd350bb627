import { connectWire } from '@signalbox/testing';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Flood } from '../support/neighbours/floods.ts';
import { type Neighbours, startNeighbours } from '../support/neighbours/neighbours.ts';

/** Rates that a flood reaches at once, so that the test is short. The shape of the limits is that of the defaults. */
const rates = {
  ...{ messages: 200, messagesBurst: 400, frames: 2000, framesBurst: 2000 },
  ...{ bytes: 1_000_000, bytesBurst: 2_000_000 },
};

let neighbours: Neighbours;
beforeAll(async () => {
  neighbours = await startNeighbours({ limits: { rates, connections: { perAgent: 8 } } });
});
afterAll(() => neighbours[Symbol.asyncDispose]());

const floods: [Flood, string][] = [
  ['notes to everybody', 'rate_limited'],
  ['notes of 4 MB', 'rate_limited'],
  ['replies to nothing', 'forbidden'],
  ['cancels of nothing', 'rate_limited'],
  ['lists of who is connected', 'rate_limited'],
  ['peeks into its inbox', 'rate_limited'],
  ['lines that are no JSON', 'bad_frame'],
  ['acks of nothing', 'rate_limited'],
  ['subscriptions again and again', 'rate_limited'],
  ['WebSocket messages without a frame', 'rate_limited'],
  ['binary WebSocket messages', 'rate_limited'],
];

it.each(floods)('An honest pair is served beside eight connections that send %s.', async (flood, answer) => {
  const { honest } = await neighbours.askDuring(flood, 20, { until: answer });
  expect(honest.served).toBeGreaterThanOrEqual(20);
  expect(honest.refused).toBe(0);
});

it('A flood is told that its frames are read later, with the figure and the setting, and a new connection does not help.', async () => {
  const token = await neighbours.token('flooder');
  const flooder = await connectWire(neighbours.url, { agent: 'flooder', token });
  flooder.raw('x\n'.repeat(500));
  expect(await flooder.next('error', { code: 'rate_limited' })).toMatchObject({
    message:
      "more than 2,000 units of frames a second for role 'worker': the frames of 'flooder' are read later; send less, or raise broker.limits.rates.frames",
    retryable: true,
    retry_after_ms: expect.any(Number),
  });
  await using next = await connectWire(neighbours.url, { agent: 'flooder#next', token });
  flooder.raw('x\n'.repeat(5000));
  next.raw('x\n'.repeat(5000));
  next.send({ type: 'list_connected', request_id: 'behind', role: 'none' });
  await using calm = await neighbours.connect('calm');
  calm.send({ type: 'list_connected', request_id: 'at-once', role: 'none' });
  expect(await calm.next('connected')).toMatchObject({ request_id: 'at-once' });
  expect(next.received.filter(({ type }) => type === 'connected')).toEqual([]);
  await flooder[Symbol.asyncDispose]();
});

it('An agent that pings again and again is told that it is read later.', async () => {
  const pinger = await connectWire(neighbours.url, {
    agent: 'pinger',
    token: await neighbours.token('pinger'),
  });
  // A WebSocket with too many pings unanswered is ended, so each pong is waited for.
  pinger.socket.on('pong', () => pinger.socket.ping());
  for (let i = 0; i < 10; i++) pinger.socket.ping();
  expect(await pinger.next('error', { code: 'rate_limited' })).toMatchObject({
    message: expect.stringContaining('more than 2,000 units of frames a second'),
  });
  await pinger[Symbol.asyncDispose]();
});
