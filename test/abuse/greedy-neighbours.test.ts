import type { Socket } from 'node:net';
import { connectWire, type WireClient } from '@signalbox/testing';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Flood } from '../support/neighbours/floods.ts';
import { startGreedyNeighbours } from '../support/neighbours/greedy-neighbours.ts';
import type { Neighbours } from '../support/neighbours/neighbours.ts';

let neighbours: Neighbours;
beforeAll(async () => {
  neighbours = await startGreedyNeighbours();
});
afterAll(() => neighbours[Symbol.asyncDispose]());

// The other floods: greedy-neighbours.long.test.ts.
const floods: [Flood, string][] = [
  ['notes to everybody', 'rate_limited'],
  ['lists of who is connected', 'rate_limited'],
  ['connections again and again', 'welcome'],
];

it.each(floods)('An honest pair is served beside a flood of %s.', async (flood, answer) => {
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

it('An agent that is far over its budget is not welcomed, while others are welcomed and served.', async () => {
  const token = await neighbours.token('returner', 'patient');
  const returner = await connectWire(neighbours.url, { agent: 'returner', token });
  returner.send(
    { type: 'deliver', to: 'bystander', id: 'large', kind: 'note' },
    `"${'x'.repeat(4_000_000)}"`,
  );
  await returner.next('error', { code: 'rate_limited' });
  await returner[Symbol.asyncDispose]();
  await using next = await connectWire(neighbours.url);
  next.raw(
    `{"type":"hello","agent":"returner","token":"${token}","protocol":1}\n{"type":"list_connected","request_id":"behind"}\n`,
  );
  await using newcomer = await neighbours.connect('newcomer');
  newcomer.send({ type: 'list_connected', request_id: 'at-once' });
  await newcomer.next('connected', { request_id: 'at-once' });
  expect(next.received).toEqual([]);
});

it('The agents of one minting token share a budget, beside which each has its own.', async () => {
  const minter = { agent: 'crew-minter', token: await neighbours.token('crew-*', 'crew') };
  await using issuer = await connectWire(neighbours.url, minter);
  const crew: WireClient[] = [];
  for (const agent of ['crew-a', 'crew-b', 'crew-c']) {
    issuer.send({ type: 'admin', request_id: agent, op: 'token_issue', params: { agent, role: 'crew' } });
    const { result } = await issuer.next('admin_result', { request_id: agent });
    crew.push(await connectWire(neighbours.url, { agent, token: (result as { token: string }).token }));
  }
  for (const one of crew) one.raw('x\n'.repeat(1000));
  const told = await Promise.all(crew.map((one) => one.next('error', { code: 'rate_limited' })));
  expect(told.map(({ message }) => message)).toContainEqual(
    expect.stringMatching(
      /^more than 4,000 units of frames a second for all agents of one minting token with role 'crew': .* or raise roles\.crew\.limits\.rates\.perMinter$/,
    ),
  );
  for (const one of crew) await one[Symbol.asyncDispose]();
});

it('An agent that pings again and again is told that it is read later, and gets one pong for many pings.', async () => {
  const pinger = await connectWire(neighbours.url, {
    agent: 'pinger',
    token: await neighbours.token('pinger'),
  });
  let pongs = 0;
  pinger.socket.on('pong', () => pongs++);
  // Masked pings without data, in one piece.
  const { _socket: transport } = pinger.socket as unknown as { _socket: Socket };
  transport.write(Buffer.from('898000000000', 'hex').toString('latin1').repeat(20_000), 'latin1');
  expect(await pinger.next('error', { code: 'rate_limited' })).toMatchObject({
    message: expect.stringContaining('more than 2,000 units of frames a second'),
  });
  expect(pongs).toBeLessThan(1000);
  await pinger[Symbol.asyncDispose]();
});
