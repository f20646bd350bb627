import { failureOf } from '@signalbox/daemon/supervisor';
import { SignalboxError } from '@signalbox/protocol';
import { expect, test } from 'vitest';
import { exitCodeOf } from './exit-codes.ts';

test.each([
  ['usage', false, 2],
  ['bad_config', false, 2],
  ['unreachable', true, 69],
  ['unauthorized', false, 77],
  ['permission_denied', false, 77],
  ['inbox_full', true, 75],
  ['mcp_server_unreachable', true, 75],
  ['outcome_unknown', false, 1],
  ['a code of tomorrow', true, 75],
])('The code %s with retryable %s ends with %i.', (code, retryable, exit) => {
  expect(exitCodeOf({ code, retryable })).toBe(exit);
});

test('A command that was asked to end exits with 130; the same code from elsewhere does not.', () => {
  expect(exitCodeOf({ code: 'cancelled', retryable: false, interrupted: true })).toBe(130);
  expect(exitCodeOf({ code: 'cancelled', retryable: false })).toBe(1);
});

test('An error without a code of our form is internal and exits with 1.', () => {
  const failure = failureOf(new TypeError('oops'));
  expect(failure).toEqual({ code: 'internal', message: 'oops', retryable: false });
  expect(exitCodeOf(failure)).toBe(1);
});

test('The details of an error are part of its failure and never replace its code.', () => {
  const error = new SignalboxError('forbidden', 'no', { details: { hint: 'ask', code: 'other' } });
  expect(failureOf(error)).toEqual({ code: 'forbidden', message: 'no', retryable: false, hint: 'ask' });
});
