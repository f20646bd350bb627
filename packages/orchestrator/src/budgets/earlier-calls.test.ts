import { auditEntrySchema } from '@signalbox/protocol';
import { expect, test } from 'vitest';
import { countedCalls } from './earlier-calls.ts';

const now = 1_800_000_000_000;
const ended = { kind: 'call', code: 'call_ended', took_ms: 200 };
const refused = { kind: 'refusal', code: 'call_refused', outcome: 'invalid_arguments' };

test.each([
  ['a call that ran, from its start on', { ...ended, outcome: 'tool_error' }, { agoMs: 1200, calls: 1 }],
  ['calls with wrong arguments', { ...refused, count: 3 }, { agoMs: 1000, calls: 3 }],
  ['a read of a resource', { ...ended, name: 'resources/read' }, { agoMs: 1200, calls: 1 }],
  ['no part of a kept result', { ...ended, name: 'resources/read', detail: 'kept result' }, undefined],
  ['no read of a resource without a normal form', { ...refused, name: 'resources/read' }, undefined],
  ['no permission question', { ...ended, name: 'claude:Bash' }, undefined],
  ['no call that the allowlist refused', { ...refused, outcome: 'permission_denied' }, undefined],
  ['nothing else', { kind: 'change', code: 'config_applied' }, undefined],
])('Against budgets counts %s.', (_, fields, counted) => {
  const row = { number: 1, at: now - 1000, agent: 'rosa', role: 'worker', name: 'mcp_a__b', previous: '' };
  const calls = countedCalls(auditEntrySchema.parse({ ...row, ...fields }), now);
  expect(calls).toEqual(counted && { agent: 'rosa', role: 'worker', ...counted });
});
