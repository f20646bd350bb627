import { expect, it } from 'vitest';
import { nearestNames } from './nearest-names.ts';

const agents = ['orchestrator', 'rosa', 'rose', 'walt', 'ci-1', 'x'];

it.each([
  ['orchestator', ['orchestrator']],
  ['roas', ['rosa', 'rose']],
  ['rosa2', ['rosa', 'rose']],
  ['wlat', ['walt']],
  ['somebody-else', []],
  ['y', []],
])('for %s suggests %j', (name, expected) => {
  expect(nearestNames(name, agents)).toEqual(expected);
});

it('suggests at most three, and gives up among very many', () => {
  const many = Array.from({ length: 5000 }, (_, i) => `agent-${i}`);
  expect(nearestNames('agent-1', many)).toEqual(['agent-1', 'agent-0', 'agent-10']);
  expect(nearestNames('walt', [...many, 'walt'])).toEqual([]);
});
