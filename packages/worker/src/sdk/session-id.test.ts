import { tokenText } from '@signalbox/protocol';
import { expect, test } from 'vitest';
import { maxSessionIdLength, sessionIdsOf } from './session-id.ts';

const token = tokenText('rosa', 'a'.repeat(43));
const ids = sessionIdsOf(token);
const state = {
  protocolVersion: '2025-06-18',
  clientInfo: { name: 'claude-code', version: '2.1' },
  capabilities: { roots: { listChanged: true }, elicitation: {}, experimental: { 'vendor/x': [1] } },
};

test('An id holds the data of initialize for every holder of the token, and two ids of one client differ.', () => {
  const id = ids.make({ ...state, clientInfo: { ...state.clientInfo, name: 'n'.repeat(500) } });
  expect(sessionIdsOf(token).read(id)).toEqual({
    ...state,
    clientInfo: { name: 'n'.repeat(80), version: '2.1' },
  });
  expect(id).toMatch(/^[\w-]+\.[\w-]{43}$/);
  expect(id).not.toContain(token);
  expect(ids.make(state)).not.toBe(ids.make(state));
});

test('No other text is read: not of another token, not changed in a single character, not of another form.', () => {
  const id = ids.make(state);
  expect(ids.read(id)).toEqual(state);
  expect(sessionIdsOf(tokenText('rosa', 'b'.repeat(43))).read(id)).toBeUndefined();
  for (let at = 0; at < id.length; at++) {
    const other = id[at] === 'A' ? 'B' : 'A';
    expect(ids.read(id.slice(0, at) + other + id.slice(at + 1)), `${at}`).toBeUndefined();
  }
  const [text, mac] = id.split('.') as [string, string];
  for (const odd of ['', '.', text, `.${mac}`, `${id}.x`, `${id}=`, ` ${id}`, id.repeat(9), 'é'.repeat(43)])
    expect(ids.read(odd), odd).toBeUndefined();
});

test('An id stays within the headers that servers take: one that would be longer holds nothing.', () => {
  const withText = (length: number) => ({
    ...state,
    capabilities: { experimental: { x: 'y'.repeat(length) } },
  });
  let length = 0;
  while (ids.make(withText(length + 1)).length > 22) length++;
  const longest = ids.make(withText(length));
  expect(longest.length).toBeLessThanOrEqual(maxSessionIdLength);
  expect(longest.length).toBeGreaterThan(maxSessionIdLength - 4);
  expect(ids.read(longest)).toEqual(withText(length));
  expect(ids.make(withText(length + 1))).toMatch(/^[\w-]{22}$/);
});
