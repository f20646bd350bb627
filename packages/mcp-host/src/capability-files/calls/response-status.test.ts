import { expect, it } from 'vitest';
import { judgeStatus } from './response-status.ts';

it.each([
  ['120', undefined, 120],
  ['Wed, 21 Oct 2026 07:28:30 GMT', 'Wed, 21 Oct 2026 07:28:00 GMT', 30],
  ['Wed, 21 Oct 2026 07:28:00 GMT', 'Wed, 21 Oct 2026 07:28:30 GMT', 0],
  ['Wed, 21 Oct 2026 07:28:00 GMT', undefined, undefined],
  ['soon', 'Wed, 21 Oct 2026 07:28:30 GMT', undefined],
])('reads retry-after %j of an answer dated %j', (retryAfter, date, seconds) => {
  const headers = new Headers({ 'retry-after': retryAfter, ...(date && { date }) });
  expect(judgeStatus(429, headers, '')).toMatchObject({ retryAfterSeconds: seconds });
});

it('tells failures, bad keys and answers apart', () => {
  const none = new Headers();
  expect(judgeStatus(500, none, 'oops')).toMatchObject({ kind: 'lost', reason: 'HTTP 500: oops' });
  expect(judgeStatus(408, none, '')).toMatchObject({ kind: 'refused', status: 408, reason: 'HTTP 408' });
  expect([401, 403, 407].map((status) => judgeStatus(status, none, ''))).toEqual(Array(3).fill('bad_key'));
  expect([304, 400, 404, 409, 422].map((status) => judgeStatus(status, none, ''))).toEqual(
    Array(5).fill(undefined),
  );
});
