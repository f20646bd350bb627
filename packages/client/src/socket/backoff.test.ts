import { describe, expect, it } from 'vitest';
import { brokerError } from '../errors.ts';
import { eagerForMs, healthyAfterMs, ReconnectPacer, refusalDelayMs } from './backoff.ts';

const almostOne = 0.999_999;

describe('the reconnect pacer', () => {
  it('is eager for ten seconds after a healthy connection, then backs off from the start', () => {
    const pacer = new ReconnectPacer();
    pacer.lost(healthyAfterMs, 1_000);
    expect(pacer.nextDelayMs(1_000, almostOne)).toBeLessThanOrEqual(250);
    expect(pacer.nextDelayMs(1_000 + eagerForMs - 1, almostOne)).toBeLessThanOrEqual(250);
    expect(Math.round(pacer.nextDelayMs(1_000 + eagerForMs, almostOne))).toBe(200);
    expect(Math.round(pacer.nextDelayMs(1_000 + eagerForMs, almostOne))).toBe(400);
  });

  it('is not reset by a connection that was welcomed and dropped, but by one that lasted', () => {
    const pacer = new ReconnectPacer();
    for (let i = 0; i < 5; i++) {
      pacer.lost(healthyAfterMs - 1, i);
      pacer.nextDelayMs(i, almostOne);
    }
    expect(Math.round(pacer.nextDelayMs(6, almostOne))).toBe(2_000);
    pacer.lost(healthyAfterMs, 7);
    expect(Math.round(pacer.nextDelayMs(7 + eagerForMs, almostOne))).toBe(200);
  });

  it('waits only after it has tried every address, and longer after each round', () => {
    const pacer = new ReconnectPacer(3);
    const waits = Array.from({ length: 9 }, () => Math.round(pacer.nextDelayMs(0, almostOne, 0)));
    expect(waits).toEqual([0, 0, 200, 0, 0, 400, 0, 0, 800]);
    expect(pacer.isRoundOver).toBe(false);
  });

  it('goes on at once after a healthy connection, and not after one that was dropped', () => {
    const pacer = new ReconnectPacer(2);
    expect([pacer.nextDelayMs(0, almostOne, 5_000), pacer.isRoundOver]).toEqual([0, true]);
    pacer.lost(healthyAfterMs - 1, 1_000);
    expect(Math.round(pacer.nextDelayMs(1_000, almostOne))).toBe(200);
    expect(pacer.nextDelayMs(1_000, almostOne)).toBe(0);
    pacer.lost(healthyAfterMs, 20_000);
    expect(pacer.nextDelayMs(20_000, almostOne)).toBe(0);
    expect(pacer.nextDelayMs(20_000, almostOne, 5_000)).toBeGreaterThanOrEqual(5_000);
    expect(pacer.nextDelayMs(20_000, almostOne)).toBe(0);
    expect(Math.round(pacer.nextDelayMs(20_000, almostOne))).toBe(500);
  });

  it('waits at least as long as the broker asks', () => {
    const pacer = new ReconnectPacer();
    expect(pacer.nextDelayMs(0, 0, 5_000)).toBe(5_000);
    expect(pacer.nextDelayMs(0, almostOne, 5_000)).toBeLessThanOrEqual(5_250);
  });
});

it('waits after a refusal as long as the broker says, else with a bounded back-off', () => {
  const busy = { type: 'error', code: 'inbox_full', message: 'full', retryable: true } as const;
  const named = brokerError({ ...busy, retry_after_ms: 1_234 });
  expect(refusalDelayMs(named, 0, 0.5)).toBe(1_234);
  expect(refusalDelayMs(brokerError(busy), 0, 0)).toBeGreaterThan(0);
  expect(refusalDelayMs(brokerError(busy), 50, 0.999)).toBeLessThan(2_100);
});
