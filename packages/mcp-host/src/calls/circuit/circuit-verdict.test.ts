import { expect, it } from 'vitest';
import type { Failure } from '../../tool-calls/index.ts';
import { type CallWait, verdictOf, wasFairWait } from './circuit-verdict.ts';

const reason = 'x';
const facts = { aborted: false, isElsewhere: false, hasCounted: false };

it('holds a broken transport against the server, unless the caller went, another machine has the server or the session has counted', () => {
  for (const kind of ['not_sent', 'lost'] as const) {
    expect(verdictOf({ kind, reason }, facts)).toBe('failure');
    for (const fact of ['aborted', 'isElsewhere', 'hasCounted'])
      expect(verdictOf({ kind, reason }, { ...facts, [fact]: true }), fact).toBe('neutral');
  }
});

it.each<Failure>([
  { kind: 'answered', code: -32603, reason },
  { kind: 'answered', code: -32602, reason },
  { kind: 'refused', status: 401, reason },
  { kind: 'refused', status: 429, reason },
  { kind: 'bad_answer', reason },
])('takes any answer as a sign of life: $kind', (failure) => {
  expect(verdictOf(failure, facts)).toBe('success');
});

it('does not hold it against the server that we have no access to it', () => {
  expect(verdictOf({ kind: 'no_access', reason }, facts)).toBe('neutral');
});

it('holds a timeout against the server only if it had its own limit, or half a minute', () => {
  const verdict = (wait: CallWait, aborted = false) =>
    verdictOf({ kind: 'timed_out', reason, isSilent: wasFairWait(wait) }, { ...facts, aborted });
  expect(verdict({ waitedMs: 29_999 })).toBe('neutral');
  expect(verdict({ waitedMs: 30_000 })).toBe('failure');
  expect(verdict({ waitedMs: 199, limitMs: 200 })).toBe('neutral');
  expect(verdict({ waitedMs: 200, limitMs: 200 })).toBe('failure');
  expect(verdict({ waitedMs: 30_000, limitMs: 600_000 })).toBe('failure');
  expect(verdict({ waitedMs: 30_000 }, true)).toBe('neutral');
});

it('takes a server that reports progress for slow, not for dead', () => {
  expect(wasFairWait({ waitedMs: 60_000, limitMs: undefined, sawProgress: true })).toBe(false);
  expect(wasFairWait({ waitedMs: 60_000, limitMs: undefined, sawProgress: false })).toBe(true);
});
