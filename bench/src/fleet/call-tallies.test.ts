import { expect, test } from 'vitest';
import { emptyTally, talliesOf, type WatchedCall } from './call-tallies.ts';

const call = (label: string, end: WatchedCall['end']): WatchedCall => ({ label, end, after: 'broker' });
const failed = (code: string, mayHaveRun: boolean) => ({ code, mayHaveRun });

test('a result of what ran once is a result', () => {
  expect(talliesOf([call('a', 'result')], ['a', ''])).toEqual({ broker: { ...emptyTally(), results: 1 } });
});

test('a result of what never ran is lost, as is a call without an end', () => {
  expect(talliesOf([call('a', 'result'), call('b', undefined)], ['b']).broker).toMatchObject({
    lost: 2,
    results: 0,
  });
});

test('what ran twice is doubled, however it ended', () => {
  const ended = [call('a', 'result'), call('b', failed('outcome_unknown', true))];
  expect(talliesOf(ended, ['a', 'b', 'a', 'b']).broker).toMatchObject({ doubled: 2, outcomeUnknown: 1 });
});

test('only a call that ran can be denied falsely', () => {
  const ended = [
    call('a', failed('mcp_server_unreachable', false)),
    call('b', failed('mcp_server_unreachable', false)),
    call('c', failed('mcp_server_unreachable', true)),
  ];
  const tally = { deniedFalsely: 1, failures: { mcp_server_unreachable: 3 } };
  expect(talliesOf(ended, ['b', 'c']).broker).toMatchObject(tally);
});

test('calls count for the process that was killed last, or for none', () => {
  const calm: WatchedCall = { label: 'a', end: 'result', after: undefined };
  expect(Object.keys(talliesOf([calm, call('b', 'result')], ['a', 'b']))).toEqual(['none', 'broker']);
});
