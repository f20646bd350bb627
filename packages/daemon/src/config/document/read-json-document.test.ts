import { expect, test } from 'vitest';
import { readJsonDocument } from './read-json-document.ts';

function read(text: string) {
  const read = readJsonDocument(text);
  return 'problems' in read
    ? read.problems.map(({ line, message }) => `${line}: ${message}`)
    : read.document.toJS();
}

const misplaced = 'this does not belong here: look for a missing quote, bracket or comma before it';

test.each([
  ['every kind of value', '{"a": [1, -2.5e3, "\\u00e9\\n\\"", true, false, null, {}, []]}'],
  ['blanks around everything', ' \t\r\n{ "a"\n:\n1 , "b" : [ ] } \n'],
  ['two members of one name', '{"a": 1, "b": 2, "a": {"c": 3}}'],
  [
    'a key that is long or looks like something else',
    `{"${'k'.repeat(2000)}": 1, "- x": 2, "<<": {"y": 1}, "": 3}`,
  ],
  ['texts that YAML would read otherwise', '{"a": "~", "b": "*x", "c": "\\/", "d": "\\ud83d\\ude00"}'],
])('%s is read as JSON.parse reads it', (_, text) => {
  expect(read(text)).toEqual(JSON.parse(text));
});

test('Comments and commas before an end are passed over, and each part has its line.', () => {
  const text = '// one\n{ /* two\n */ "a": "// no", // three\n"b": [1, /* x */ 2,],\n}\n/**/';
  expect(read(text)).toEqual({ a: '// no', b: [1, 2] });
  const found = readJsonDocument(text) as Extract<ReturnType<typeof readJsonDocument>, { document: unknown }>;
  const offset = text.indexOf('"b"');
  expect(found.lineAt(offset)).toBe(4);
});

test('What is no JSON is refused with the line, and the message holds nothing of the text.', () => {
  const wrong = [
    '',
    '{',
    '{a: 1}',
    "{'a': 1}",
    '{"a": b}',
    '{"a": 01}',
    '{"a" 1}',
    '[,]',
    '{"a": 1,,}',
    '{"a": "x\ny"}',
    '[1 2]',
    '{} {}',
    '- a',
    '{"a": "\\x"}',
    '/* ',
    '{"a": NaN}',
  ];
  expect(wrong.map((text) => read(`\n${text}`))).toEqual(wrong.map(() => [`2: ${misplaced}`]));
  expect(read('{"a": {"__proto__": 1}}')).toEqual(["1: '__proto__' cannot be a name"]);
  expect(read('['.repeat(100_000))).toEqual(['1: has more than 200 brackets in one another']);
});
