import { expect, test } from 'vitest';
import { showsTool } from './tool-names.ts';

test('A tool is known by what clients make of its name, and not taken for another one.', () => {
  const long = 'long64_'.padEnd(64, 'x');
  const shown: [string, string][] = [
    ['texts', 'texts'],
    ['mcp__probe__texts', 'texts'],
    ['probe-dotted-name', 'dotted.name'],
    ['mcp_probe_dotted.name', 'dotted.name'],
    ['mcp__probe__dotted_name_0pqk1e0', 'dotted.name'],
    ['mcp_probe_long64_xxxxxxxxxxxx...xxxxxxxxxx', long],
    ['signalbox_mcp_everything__get-structured-content', 'mcp_everything__get-structured-content'],
  ];
  for (const [name, tool] of shown) expect(showsTool(name, tool), name).toBe(true);
  const others: [string, string][] = [
    ['mcp__probe__texts_too', 'texts'],
    ['contexts', 'texts'],
    ['probe-long47_xxxxxxxxxxxx', long],
  ];
  for (const [name, tool] of others) expect(showsTool(name, tool), name).toBe(false);
});
