import { StoreError } from '@signalbox/store';
import { afterEach, expect, it, vi } from 'vitest';
import { BrokerHealth } from './broker-health.ts';

afterEach(() => {
  vi.useRealTimers();
});

/** Makes a store that gives the listed proofs, and counts the questions. */
function startHealth(proofs: (() => Promise<'works' | 'full'>)[], usedBytes = 0) {
  let asked = 0;
  let now = 0;
  const store = {
    prove: () => proofs[Math.min(asked++, proofs.length - 1)]!(),
    usage: async () => ({ usedBytes, maxBytes: 100 }),
  };
  const health = new BrokerHealth({ store, reservePercent: 10, monotonic: () => now });
  const code = async () => {
    const readiness = await health.ready();
    return readiness.ready ? 'ready' : readiness.code;
  };
  return { health, code, advance: (ms: number) => (now += ms), asked: () => asked };
}

const works = async () => 'works' as const;
const fails = (isFinal: boolean) => async () => {
  throw new StoreError('store_failed', 'the disk said no', undefined, { isFinal });
};

it('is ready while the store is proved at most once a second, and says when it starts and stops', async () => {
  const { health, code, advance, asked } = startHealth([works]);
  expect(await code()).toBe('starting');
  health.enter('running');
  expect([await code(), await code(), asked()]).toEqual(['ready', 'ready', 1]);
  advance(1001);
  expect([await code(), asked()]).toEqual(['ready', 2]);
  health.enter('draining');
  expect([await code(), asked()]).toEqual(['draining', 2]);
});

it('is not ready while the disk or the configured room is full', async () => {
  const disk = startHealth([async () => 'full' as const, works]);
  disk.health.enter('running');
  expect(await disk.code()).toBe('storage_full');
  disk.advance(1001);
  expect(await disk.code()).toBe('ready');
  const [room, full] = [startHealth([works], 89), startHealth([works], 90)];
  for (const { health } of [room, full]) health.enter('running');
  expect([await room.code(), await full.code()]).toEqual(['ready', 'storage_full']);
});

it('goes on after a write that failed for a moment, and never after a disk that failed', async () => {
  const { health, code, advance } = startHealth([fails(false), works, fails(true), works]);
  health.enter('running');
  expect(await code()).toBe('store_failed');
  advance(1001);
  expect(await code()).toBe('ready');
  advance(1001);
  expect(await code()).toBe('store_failed');
  advance(1001);
  expect(await code()).toBe('store_failed');
  health.enter('draining');
  expect(await code()).toBe('store_failed');
  expect(health.check()).toMatchObject({ name: 'store', ok: false, detail: expect.stringContaining('disk') });
});

it('says that the database is away, and is ready when it is back', async () => {
  const away = async () => {
    throw new StoreError('store_unavailable', 'nobody listens there');
  };
  const { health, code, advance } = startHealth([away, works]);
  health.enter('running');
  expect(await code()).toBe('store_unavailable');
  advance(1001);
  expect(await code()).toBe('ready');
});

it('does not wait for a disk that hangs', async () => {
  vi.useFakeTimers();
  const { health, code } = startHealth([() => new Promise(() => {})]);
  health.enter('running');
  const waiting = code();
  await vi.advanceTimersByTimeAsync(5000);
  expect(await waiting).toBe('store_slow');
});
