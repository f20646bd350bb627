import { expect, test } from 'vitest';
import { outcomeError } from './failed-outcome.ts';

test('A question whose time is over is late, whoever notices that first: its client or the broker.', () => {
  const noticed = outcomeError({ status: 'timed_out', mayHaveRun: true }, 'bob');
  expect(noticed).toMatchObject({ code: 'timed_out', retryable: true });
  const told = outcomeError({ status: 'undeliverable', reason: 'expired', mayHaveRun: true }, 'bob');
  expect(told).toEqual(noticed);
  expect(outcomeError({ status: 'undeliverable', reason: 'dead', mayHaveRun: true }, 'bob')).toMatchObject({
    code: 'undeliverable',
    retryable: false,
  });
});
