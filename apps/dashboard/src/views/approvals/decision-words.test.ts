import type { Approval } from '@signalbox/protocol';
import { expect, test } from 'vitest';
import { decisionText, endText } from './decision-words.ts';

const approval: Approval = {
  ...{ id: 'k7', state: 'approved', request_id: 'r', agent: 'rosa', role: 'worker', tool: 'mcp_a__b' },
  ...{ arguments_hash: '', definition_hash: '', rule: 'ask[0]', created_at: 0, deadline_at: 1 },
  by: { token_id: 't', agent: 'operator.bob' },
};

test('A decision says what it did, and one that came second says who was first and why.', () => {
  expect(decisionText({ decided: true, approval }).text).toBe('Approved: a:b of rosa is called');
  const standing = { ...approval, until: 3_600_000, by: approval.by! };
  expect(decisionText({ decided: true, approval, standing }).text).toContain('no decision for 60 min');
  const kept = { ...approval, kept_until: 3_600_000 };
  expect(decisionText({ decided: true, approval: kept }).text).toContain(
    'runs once, when its caller calls again',
  );
  const denied = { ...approval, state: 'denied' as const, reason: 'not on Fridays' };
  expect(decisionText({ decided: true, approval: denied })).toEqual({
    tone: 'good',
    text: 'Denied: a:b of rosa is not called',
  });
  expect(decisionText({ decided: false, approval: denied })).toEqual({
    tone: 'bad',
    text: 'Nothing was changed: operator.bob has denied this call: not on Fridays',
  });
});

test('Each end of an approval has its words.', () => {
  const words = (['expired', 'superseded', 'cancelled', 'pending'] as const).map((state) =>
    endText({ ...approval, state, reason: 'why' }),
  );
  expect(words).toEqual([
    'nobody decided in time, and its agent was told',
    'the call is not what was asked for any more: why',
    'the call was cancelled: why',
    'the call still waits',
  ]);
});
