import { expect, test } from 'vitest';
import { stemOf } from './stem.ts';

test.each([
  ['merge', 'merges', 'merged', 'merging'],
  ['stop', 'stops', 'stopped', 'stopping'],
  ['query', 'queries', 'queried', 'querying'],
  ['branch', 'branches', 'branched', 'branching'],
  ['repository', 'repositories'],
  ['box', 'boxes'],
  ['release', 'releases', 'released', 'releasing'],
])('%s and its other forms have one stem', (...forms) => {
  expect(new Set(forms.map(stemOf)).size).toBe(1);
});

test.each([
  ['status', 'state'],
  ['process', 'proceed'],
  ['string', 'str'],
  ['thing', 'th'],
  ['bus', 'bu'],
])('%s and %s stay two words', (one, other) => {
  expect(stemOf(one)).not.toBe(stemOf(other));
});

test('what is no word of plain letters stays as it is', () => {
  expect(['v2s', 'größen', 'id', 's3', '2025'].map(stemOf)).toEqual(['v2s', 'größen', 'id', 's3', '2025']);
});
