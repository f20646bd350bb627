import { expect, test } from 'vitest';
import { withEntry, withoutEntry } from './workspace-entry.ts';

const entry = { path: '/x', keys: ['mcpServers', 'signalbox'], value: { command: 'node', args: ['a'] } };
const parsed = (text: string | undefined): unknown => (text === undefined ? undefined : JSON.parse(text));

test('an entry is put beside what is there, into no file and an empty one too', () => {
  expect(parsed(withEntry('{ /* c */ "mcpServers": {"mine": {}}, "other": 1, }', entry))).toEqual({
    mcpServers: { mine: {}, signalbox: entry.value },
    other: 1,
  });
  for (const text of [undefined, '', ' \n']) {
    expect(parsed(withEntry(text, entry))).toEqual({ mcpServers: { signalbox: entry.value } });
  }
});

test.each([
  'no JSON',
  '[]',
  'null',
  '{"mcpServers":[]}',
  `${'{"a":'.repeat(100_000)}1${'}'.repeat(100_000)}`,
  `{"a":"${'\\"'.repeat(300_000)}`,
  '/*'.repeat(300_000),
])('nothing can be put into %.20s', (text) => {
  expect(withEntry(text, entry)).toBeUndefined();
});

test('only our entry is taken out of an edited file, and an older one of its name comes back', () => {
  const edited = JSON.stringify({ mcpServers: { added: {}, signalbox: entry.value }, more: 2 });
  expect(parsed(withoutEntry(edited, entry))).toEqual({ mcpServers: { added: {} }, more: 2 });
  const before = '{"mcpServers":{"signalbox":{"command":"old"}}}';
  expect(parsed(withoutEntry(edited, entry, before))).toEqual({
    mcpServers: { added: {}, signalbox: { command: 'old' } },
    more: 2,
  });
});

test('an entry that was edited itself is the user’s, and stays', () => {
  const edited = '{"mcpServers":{"signalbox":{"command":"theirs"}}}';
  expect(withoutEntry(edited, entry)).toBe(edited);
});

test('a text that is no JSON any more is not touched', () => {
  expect(withoutEntry('{"mcpServers":', entry)).toBeUndefined();
});
