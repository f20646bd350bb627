import { expect, test } from 'vitest';
import { agentNames } from './agent-names.ts';

test('Several agents are numbered, by a pattern or after a name.', () => {
  expect(agentNames({ agent: 'ci-*', count: 2 })).toEqual(['ci-1', 'ci-2']);
  expect(agentNames({ agent: 'rosa', count: 2 })).toEqual(['rosa-1', 'rosa-2']);
  expect(agentNames({ agent: 'rosa', count: 1 })).toEqual(['rosa']);
  expect(agentNames({ count: 2, pattern: 'ci-*' })).toEqual(['ci-1', 'ci-2']);
});

test('A minting token names agents under its pattern only.', () => {
  expect(agentNames({ agent: 'ci-build', count: 1, pattern: 'ci-*' })).toEqual(['ci-build']);
  expect(() => agentNames({ agent: 'rosa', count: 1, pattern: 'ci-*' })).toThrow('agents named ci-*');
});

test('A plain token is for its own agent, and for one process of it.', () => {
  expect(agentNames({ count: 1, own: 'rosa' })).toEqual(['rosa']);
  expect(() => agentNames({ agent: 'walt', count: 1, own: 'rosa' })).toThrow("the token is for 'rosa'");
  expect(() => agentNames({ count: 2, own: 'rosa' })).toThrow('--count');
});

test.each(['Rosa', 'a b', ''])("'%s' is no agent id.", (agent) => {
  expect(() => agentNames({ agent, count: 1 })).toThrow('not an agent id');
});
