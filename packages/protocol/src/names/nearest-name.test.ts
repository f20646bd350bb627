import { expect, test } from 'vitest';
import { nearestName, suggestion } from './nearest-name.ts';

test('The nearest name is suggested where one is near.', () => {
  expect(nearestName('listne', ['listen', 'data', 'durability'])).toBe('listen');
  expect(nearestName('MCPSERVERS', ['mcpServers', 'roles'])).toBe('mcpServers');
  expect(suggestion('dney', ['allow', 'deny'])).toBe(" (did you mean 'deny'?)");
});

test('Nothing is suggested where all are far.', () => {
  expect(nearestName('zzzzzz', ['listen', 'data'])).toBeUndefined();
  expect(suggestion('x', [])).toBe('');
});
