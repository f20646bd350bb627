import { expect, test } from 'vitest';
import { commandText } from './command-text.ts';

const redact = (text: string) => text.replaceAll('sekret', '[redacted]');

test.each([
  [['npx', '-y', '@scope/server@1.2.3', '/home/rosa'], 'npx -y @scope/server@1.2.3 /home/rosa'],
  [['x', '--api-key', 'plain', '--mode', 'plain'], 'x --api-key [redacted] --mode plain'],
  [
    ['x', '--token=plain', 'API_KEY=plain', 'MODE=plain'],
    'x --token=[redacted] API_KEY=[redacted] MODE=plain',
  ],
  [
    ['x', 'https://rosa:pass@h.example/?key=k&mode=m'],
    "x 'https://[redacted]@h.example/?key=[redacted]&mode=m'",
  ],
  [['x', 'ghp_abcdefghij0123456789abcd', '--f=sekret'], 'x [redacted] --f=[redacted]'],
  [
    ['mcp-remote', '--header', 'Authorization: Bearer plain', '--header', 'Authorization:plain', 'mcp/key:2'],
    'mcp-remote --header Authorization:[redacted] --header Authorization:[redacted] mcp/key:2',
  ],
  [['sh', '-c', 'TOKEN=plain x'], 'sh -c TOKEN=[redacted]'],
  [
    ['sh', '-c', 'MODE=m A_TOKEN="p l" x --api-key plain -H "Authorization: Bearer plain" --mode m; y'],
    `sh -c 'MODE=m A_TOKEN=[redacted] x --api-key [redacted] -H "Authorization: [redacted]" --mode m; y'`,
  ],
  [['bash', '-c', "echo it's"], "bash -c 'echo it'\\''s'"],
])('%j is written as %s', (words, text) => {
  expect(commandText(words, redact)).toBe(text);
});

test('A long command line is cut.', () => {
  expect(commandText(['x', 'y '.repeat(500)], redact)).toHaveLength(400);
});
