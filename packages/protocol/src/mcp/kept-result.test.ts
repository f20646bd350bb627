import { expect, test } from 'vitest';
import { isKeptResultUri, keptResultUri, parseKeptResultUri } from './kept-result.ts';
import { namedUri } from './resource-uri.ts';

const id = 'abcdefghijklmnopqrst_-';
const problemOf = (query: string, part: 'text' | number = 'text') => {
  const read = parseKeptResultUri(`${keptResultUri(id, part)}?${query}`);
  return 'problem' in read ? read.problem : undefined;
};

test.each([
  [keptResultUri(id), { part: 'text', range: { by: 'bytes', offset: 0 } }],
  [
    keptResultUri(id, 'json', { offset: 7, bytes: 9 }),
    { part: 'json', range: { by: 'bytes', offset: 7, bytes: 9 } },
  ],
  [keptResultUri(id, 3), { part: 3, range: { by: 'bytes', offset: 0 } }],
  [keptResultUri(id, 'text', { lines: 5 }), { part: 'text', range: { by: 'lines', line: 1, lines: 5 } }],
  [
    keptResultUri(id, 'text', { search: 'a &=+ü', ignore_case: true, offset: 4 }),
    {
      part: 'text',
      range: { by: 'search', search: 'a &=+ü', ignoreCase: true, offset: 4, context: 2, matches: 20 },
    },
  ],
])('The URI %s is read as it was made.', (uri, read) => {
  expect(parseKeptResultUri(uri)).toEqual({ id, ...read });
});

test('URIs of servers, of other lengths and with line breaks are no URIs of kept results.', () => {
  expect(isKeptResultUri(keptResultUri(id))).toBe(true);
  for (const uri of [
    namedUri('result', 'file:///a'),
    namedUri('result', 'abcdefghijklmnopqrst:x'),
    `signalbox://result/${id}x`,
    `signalbox://result/${id}/..`,
    `signalbox://results/${id}`,
    `x${keptResultUri(id)}`,
    `${keptResultUri(id)}\n`,
    7,
  ])
    expect(isKeptResultUri(uri)).toBe(false);
});

test('A range that makes no sense is refused with the name of the field.', () => {
  expect(problemOf('line=0')).toContain("'line' must be a whole number from 1");
  expect(problemOf('offset=-1')).toContain("'offset'");
  expect(problemOf('bytes=999999999')).toContain("'bytes'");
  expect(problemOf('line=1&offset=2')).toBe("'offset' does not go with line, lines");
  expect(problemOf('line=1&line=2')).toBe("'line' is given twice");
  expect(problemOf('search=')).toContain("'search' must be a text");
  expect(problemOf('search=a%0Ab')).toContain('within one line');
  expect(problemOf('search=a&ignore_case=yes')).toContain("'ignore_case'");
  expect(problemOf('toString=1')).toBe("there is no 'toString'");
  expect(problemOf('line=1', 4)).toBe('a content block is read as a whole');
  expect(problemOf('line=4&lines=10')).toBeUndefined();
});
