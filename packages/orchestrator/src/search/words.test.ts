import { expect, test } from 'vitest';
import { wordsOf } from './words.ts';

test.each([
  ['mcp_files__read_text_file', ['mcp', 'files', 'read', 'text', 'file']],
  ['readTextFile', ['read', 'text', 'file']],
  ['parseHTTPResponse', ['parse', 'http', 'response']],
  ['getV2Item', ['get', 'v2', 'item']],
  ['list-branches.all', ['list', 'branches', 'all']],
  ["Größe ändern, s'il vous plaît", ['größe', 'ändern', 's', 'il', 'vous', 'plaît']],
  ['  __ -- ', []],
])('the words of %j are %j', (text, words) => {
  expect(wordsOf(text)).toEqual(words);
});
