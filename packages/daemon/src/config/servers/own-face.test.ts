import { expect, test } from 'vitest';
import { isOwnFace } from './own-face.ts';

test('Signalbox is recognised also in values that say whether they are secrets.', () => {
  const marked = (value: string) => ({ value, secret: false });
  expect(isOwnFace({ command: 'npx', args: [marked('signalbox'), 'worker', marked('mcp')] })).toBe(true);
  // biome-ignore lint/suspicious/noTemplateCurlyInString: the reference as it is written
  const headers = { Authorization: marked('Bearer ${env:SIGNALBOX_TOKEN}') };
  expect(isOwnFace({ url: 'http://h.example/mcp', headers })).toBe(true);
});

test('A long command line is judged quickly.', () => {
  const line = 'signalbox '.repeat(40_000);
  expect(isOwnFace({ command: 'sh', args: ['-c', line] })).toBe(false);
  expect(isOwnFace({ command: 'sh', args: ['-c', `${line} worker mcp`] })).toBe(true);
}, 2000);
