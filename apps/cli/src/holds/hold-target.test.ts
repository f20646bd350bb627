import { expect, test } from 'vitest';
import { holdTarget } from './hold-target.ts';

test('One option says what a hold is on, and two are refused.', () => {
  expect(holdTarget({ agent: 'rosa' })).toEqual({ on: 'agent', name: 'rosa' });
  expect(holdTarget({ role: 'builder' })).toEqual({ on: 'role', name: 'builder' });
  expect(holdTarget({ tool: 'mcp_db__*' })).toEqual({ on: 'tool', name: 'mcp_db__*' });
  expect(holdTarget({ all: true })).toEqual({ on: 'all' });
  expect(holdTarget({})).toBeUndefined();
  expect(() => holdTarget({ agent: 'rosa', all: true })).toThrow('only one of');
});
