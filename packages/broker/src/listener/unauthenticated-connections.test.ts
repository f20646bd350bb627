import { PassThrough } from 'node:stream';
import { expect, it } from 'vitest';
import { UnauthenticatedConnections } from './unauthenticated-connections.ts';

const from = (remoteAddress: string) => Object.assign(new PassThrough(), { remoteAddress });

it('makes room at the expense of the address with the most connections, the oldest first', () => {
  const connections = new UnauthenticatedConnections(4, () => {});
  const honest = from('10.0.0.1');
  const greedy = Array.from({ length: 6 }, () => from('10.0.0.9'));
  connections.add(honest);
  for (const socket of greedy) connections.add(socket);
  expect(honest.destroyed).toBe(false);
  expect(greedy.map(({ destroyed }) => destroyed)).toEqual([true, true, true, false, false, false]);
  expect(connections.size).toBe(4);
});

it('counts a connection of an address no more when it is closed or has said hello', () => {
  const connections = new UnauthenticatedConnections(2, () => {});
  const admitted = from('10.0.0.9');
  connections.add(admitted);
  connections.upgraded(admitted, () => {});
  connections.remove(admitted);
  const [first, second, third] = [from('10.0.0.1'), from('10.0.0.9'), from('10.0.0.1')];
  for (const socket of [first, second, third]) connections.add(socket);
  expect([first, second, third].map(({ destroyed }) => destroyed)).toEqual([true, false, false]);
});
