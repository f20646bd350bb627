import { defaultLimits } from '@signalbox/protocol';
import { expect, test } from 'vitest';
import { ClientLimits, type NoSlot, type Slot } from './client-limits.ts';

function open(limits: Partial<(typeof defaultLimits)['webhooks']>) {
  const clock = { now: 0 };
  return { clock, clients: new ClientLimits({ ...defaultLimits.webhooks, ...limits }, () => clock.now) };
}

const isSlot = (slot: Slot | NoSlot): slot is Slot => !('message' in slot);

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

test('Slots are bounded by address, by webhook and in all, and come back when they are disposed.', () => {
  const { clients } = open({ bodiesPerAddress: 2, bodiesPerHook: 3, bodies: 4 });
  const first = clients.take('a', 'x');
  expect(isSlot(first) && isSlot(clients.take('a', 'x'))).toBe(true);
  expect(clients.take('a', 'x')).toMatchObject({
    isOwn: true,
    message: expect.stringContaining('bodiesPerAddress'),
  });
  expect(isSlot(clients.take('b', 'x'))).toBe(true);
  expect(clients.take('b', 'x')).toMatchObject({
    isOwn: false,
    message: expect.stringContaining('bodiesPerHook'),
  });
  expect(isSlot(clients.take('b', 'y'))).toBe(true);
  expect(clients.take('c', 'y')).toMatchObject({
    isOwn: false,
    message: expect.stringContaining('webhooks.bodies'),
  });
  if (isSlot(first)) first[Symbol.dispose]();
  expect(isSlot(clients.take('a', 'x'))).toBe(true);
  expect(clients.bodies).toBe(4);
});

test('Beyond its bytes an address is read later.', () => {
  const { clients, clock } = open({ bytesPerAddress: 1000 });
  const slot = clients.take('a', 'x') as Slot;
  expect(slot.read(1000)).toBe(0);
  expect(slot.read(500)).toBe(500);
  clock.now += 500;
  expect(slot.read(0)).toBe(0);
});

test('Beyond the bytes of all, each address is read later.', () => {
  const { clients } = open({ bytesPerSecond: 1000 });
  expect((clients.take('a', 'x') as Slot).read(250)).toBe(0);
  expect((clients.take('b', 'x') as Slot).read(500)).toBe(500);
});

test('However many addresses there are, those that are known stay few, and the rest share one rate.', () => {
  const { clients } = open({ requestsPerAddress: 1 });
  for (let i = 0; i < 4096; i++) clients.count(`a${i}`);
  for (const address of ['new', 'newer']) expect(clients.count(address)).toBeUndefined();
  expect(clients.count('newest')).toMatchObject({ isOwn: true });
});
