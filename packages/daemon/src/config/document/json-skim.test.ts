import { expect, test } from 'vitest';
import { JsonSkim, type KeptPart } from './json-skim.ts';

/** Keeps `servers` of the whole and of `projects.x`. */
function partOf(path: readonly string[]): KeptPart {
  if (path.at(-1) === 'servers') return path.length === 1 || path[1] === 'x' ? 'all' : 'nothing';
  return ['projects', 'projects/x'].includes(path.join('/')) ? 'some' : 'nothing';
}

/** Skims a text in pieces of the given length. */
function skim(text: string, length = text.length) {
  const skimmed = new JsonSkim(partOf);
  for (let at = 0; at < text.length; at += length) skimmed.push(text.slice(at, at + length));
  return skimmed.end();
}

const whole = `{ // "servers": 1
  "history": ["\\\\", "\\"}", {"servers": [1, {"a": "]"}]}, -1.5e3, /* " */ null],
  "projects": { "y": {"servers": {"no": 1}}, "x": { "cost": 1,
    "servers": {"a": {"args": ["\\\\\\"{", 1],}}, "more": [[]] }, },
  "servers": /* here */ {"b": {}, // c
    "é": "\\u0041"}
  , "ser\\u0076ers2": {}
}
`;

test('The wanted members are copied as they are written, each in its line, however the text is cut into pieces.', () => {
  const copied = [
    '{',
    '',
    '"projects":{"x":{',
    '"servers":{"a": {"args": ["\\\\\\"{", 1],}}}}',
    ',"servers":{"b": {}, // c',
    '    "é": "\\u0041"}',
    '',
    '}',
  ].join('\n');
  for (const length of [1, 2, 3, 7, 64, 1000]) expect(skim(whole, length)).toEqual({ text: copied });
});

test('Every text that ends in the middle is half-written, whichever character is its last.', () => {
  const last = whole.lastIndexOf('}');
  for (let length = 1; length <= last; length++) {
    expect(skim(whole.slice(0, length))).toMatchObject({
      problem: { message: expect.stringMatching(/half-written|empty/) },
    });
  }
  expect(skim(whole.slice(0, last + 1))).toHaveProperty('text');
});

test('A text that is no JSON is refused with the line, and one that is no object has nothing to copy.', () => {
  const messages = (text: string) => {
    const end = skim(text);
    return 'problem' in end ? `${end.problem.line}: ${end.problem.message}` : end.text;
  };
  expect(['', ' \n ', '// only a comment', '/* one */\n'].map(messages)).toEqual([
    '1: is empty',
    '2: is empty',
    '1: is empty',
    '2: is empty',
  ]);
  const misplaced = 'is no JSON: something in this line does not belong there';
  const wrong = [
    '{"a" 1}',
    '{"a"::1}',
    '{"a":1 2}',
    '{,}',
    '{a: 1}',
    '{"a":[}]}',
    '{}{}',
    '{} x',
    '{"a":}',
    '}',
    'x y',
    '{"a":1,,}',
    '{"\\x":1}',
  ];
  expect(wrong.map((text) => messages(`\n${text}`))).toEqual(wrong.map(() => `2: ${misplaced}`));
  expect(['[1, {"servers": {}}]', '"text"', 'null', '7 // seven'].map(messages)).toEqual([
    'null',
    'null',
    'null',
    'null',
  ]);
  expect(messages('{"projects": ["x"], "servers": {}}')).toBe('{"servers":{}}');
});

test('Depth, keys and the copy have a bound; what is passed over has none.', () => {
  const nested = (depth: number) => `{"a":${'['.repeat(depth)}${']'.repeat(depth)}}`;
  expect(skim(nested(199))).toEqual({ text: '{}' });
  expect(skim(nested(200))).toMatchObject({
    problem: { message: 'has more than 200 brackets in one another' },
  });
  expect(skim(`{"${'k'.repeat(70_000)}": 1}`)).toMatchObject({
    problem: { message: expect.stringContaining('a key of more than') },
  });
  const long = JSON.stringify('s'.repeat(2 * 1024 * 1024));
  expect(skim(`{"a": ${long}, "servers": 1}`, 4096)).toEqual({ text: '{"servers":1}' });
  expect(skim(`{"servers": ${long}}`, 4096)).toMatchObject({
    problem: { message: 'holds more than 1 MiB of servers' },
  });
});
