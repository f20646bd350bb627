import { defaultLimits } from '@signalbox/protocol';
import { expect, test } from 'vitest';
import { ClientLimits, type NoPlace, type Place } from './client-limits.ts';

function open(limits: Partial<(typeof defaultLimits)['webhooks']>) {
  const clock = { now: 0 };
  return { clock, clients: new ClientLimits({ ...defaultLimits.webhooks, ...limits }, () => clock.now) };
}

const isPlace = (place: Place | NoPlace): place is Place => !('message' in place);

test('An address that sends too many requests is refused until its time has come, and others are not.', () => {
  const { clients, clock } = open({ requestsPerAddress: 2 });
  for (let i = 0; i < 4; i++) expect(clients.count('a')).toBeUndefined();
  expect(clients.count('a')).toMatchObject({
    isOwn: true,
    message: expect.stringContaining('requestsPerAddress'),
  });
  expect(clients.count('b')).toBeUndefined();
  clock.now += 1000;
  expect(clients.count('a')).toBeUndefined();
});

test('Places are bounded by address, by webhook and in all, and come back when they are disposed.', () => {
  const { clients } = open({ bodiesPerAddress: 2, bodiesPerHook: 3, bodies: 4 });
  const first = clients.take('a', 'x');
  expect(isPlace(first) && isPlace(clients.take('a', 'x'))).toBe(true);
  expect(clients.take('a', 'x')).toMatchObject({
    isOwn: true,
    message: expect.stringContaining('bodiesPerAddress'),
  });
  expect(isPlace(clients.take('b', 'x'))).toBe(true);
  expect(clients.take('b', 'x')).toMatchObject({
    isOwn: false,
    message: expect.stringContaining('bodiesPerHook'),
  });
  expect(isPlace(clients.take('b', 'y'))).toBe(true);
  expect(clients.take('c', 'y')).toMatchObject({
    isOwn: false,
    message: expect.stringContaining('webhooks.bodies'),
  });
  if (isPlace(first)) first[Symbol.dispose]();
  expect(isPlace(clients.take('a', 'x'))).toBe(true);
  expect(clients.bodies).toBe(4);
});

test('Beyond its bytes an address is read later.', () => {
  const { clients, clock } = open({ bytesPerAddress: 1000 });
  const place = clients.take('a', 'x') as Place;
  expect(place.read(1000)).toBe(0);
  expect(place.read(500)).toBe(500);
  clock.now += 500;
  expect(place.read(0)).toBe(0);
});

test('Beyond the bytes of all, each address is read later.', () => {
  const { clients } = open({ bytesPerSecond: 1000 });
  expect((clients.take('a', 'x') as Place).read(250)).toBe(0);
  expect((clients.take('b', 'x') as Place).read(500)).toBe(500);
});

test('However many addresses there are, those that are known stay few, and the rest share one rate.', () => {
  const { clients } = open({ requestsPerAddress: 1 });
  for (let i = 0; i < 4096; i++) clients.count(`a${i}`);
  for (const address of ['new', 'newer']) expect(clients.count(address)).toBeUndefined();
  expect(clients.count('newest')).toMatchObject({ isOwn: true });
});
