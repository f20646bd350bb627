import { expect, test } from 'vitest';
import { paramMismatch } from './param-headers.ts';

const tool = {
  inputSchema: {
    type: 'object' as const,
    properties: {
      region: { type: 'string', 'x-mcp-header': 'Region' },
      page: { type: 'object', properties: { size: { type: 'integer', 'x-mcp-header': 'Page-Size' } } },
      dry: { type: 'boolean', 'x-mcp-header': 'Dry' },
      list: { type: 'array', items: { type: 'string', 'x-mcp-header': 'Item' } },
    },
  },
};
const args = { region: 'Öre', page: { size: 42 }, dry: true, list: ['a'] };
const headers = {
  'mcp-param-region': '=?base64?w5ZyZQ==?=',
  'mcp-param-page-size': '42.0',
  'mcp-param-dry': 'true',
};

test('headers that repeat the declared arguments fit, and what is missing or null needs none', () => {
  expect(paramMismatch(tool, args, headers)).toBeUndefined();
  expect(paramMismatch(tool, { region: null, page: {} }, {})).toBeUndefined();
  expect(paramMismatch(tool, undefined, headers)).toBeUndefined();
});

test.each([
  [{ 'mcp-param-region': 'Ore' }, 'the header Mcp-Param-Region and the argument region differ'],
  [{ 'mcp-param-region': '=?base64?w5Zy*?=' }, 'the header Mcp-Param-Region is not valid Base64'],
  [{ 'mcp-param-region': '=?base64?/w==?=' }, 'the header Mcp-Param-Region is not valid Base64'],
  [{ 'mcp-param-page-size': '43' }, 'the header Mcp-Param-Page-Size and the argument page.size differ'],
  [{ 'mcp-param-dry': '1' }, 'the header Mcp-Param-Dry and the argument dry differ'],
])('the headers %j do not fit', (wrong, why) => {
  expect(paramMismatch(tool, args, { ...headers, ...wrong })).toBe(why);
});

test('a declared argument without its header does not fit', () => {
  expect(paramMismatch(tool, { dry: false }, {})).toBe(
    'the argument dry is not repeated in the header Mcp-Param-Dry',
  );
});
