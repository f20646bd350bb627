import { expect, test } from 'vitest';
import { holdText, isOnAgent } from './holds.ts';
import type { Hold } from './wire/admin/holds.ts';

const rosa = { agent: 'rosa', role: 'builder' };
const hold: Hold = {
  id: 'h1',
  on: 'agent',
  name: 'rosa',
  reason: 'it deletes files',
  by: 'operator.kim',
  token_id: 't1',
  created_at: 0,
};

test('A hold is on the agent that it names, on agents of the role that it names, or on everybody; one on tools is on nobody.', () => {
  const means = (on: Hold['on'], name?: string) =>
    isOnAgent({ on, ...(name !== undefined && { name }) }, rosa);
  expect([means('agent', 'rosa'), means('role', 'builder'), means('all')]).toEqual([true, true, true]);
  expect([
    means('agent', 'ros'),
    means('agent', 'builder'),
    means('role', 'rosa'),
    means('tool', '*'),
  ]).toEqual([false, false, false, false]);
});

test('The text of a hold says who holds what, since when, until when and why.', () => {
  expect(holdText(hold)).toBe(
    "operator.kim holds agent 'rosa' since 1970-01-01T00:00:00.000Z: it deletes files (hold h1)",
  );
  expect(holdText({ ...hold, on: 'tool', name: 'mcp_db__*', until: 1000 })).toContain(
    "holds tools 'db:*' since 1970-01-01T00:00:00.000Z until 1970-01-01T00:00:01.000Z",
  );
  expect(holdText({ ...hold, on: 'all', damaged: true })).toContain('the record of hold h1 is damaged');
});
