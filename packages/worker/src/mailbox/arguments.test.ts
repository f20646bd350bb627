import { expect, test } from 'vitest';
import { readArguments } from './arguments.ts';

const fields = {
  to: { type: 'string', description: '', minLength: 1, maxLength: 5 },
  kind: { type: 'string', description: '', enum: ['note', 'task'] },
  limit: { type: 'integer', description: '', minimum: 0, maximum: 9 },
  all: { type: 'boolean', description: '' },
  body: { description: '' },
} as const;
const read = (given: unknown) => readArguments(fields, ['to'], given);

test('arguments come as an object or as its JSON text; what is left out may be null, which a body may mean', () => {
  const value = { to: 'walt', kind: 'task', limit: 0, all: false, body: [1] };
  expect(read(value)).toEqual({ value });
  expect(read(JSON.stringify(value))).toEqual({ value });
  expect(read({ to: 'walt', kind: null, limit: null, body: null })).toEqual({
    value: { to: 'walt', body: null },
  });
});

test.each([
  [{}, "'to' is missing"],
  [{ to: null }, "'to' is missing"],
  [undefined, "'to' is missing"],
  [{ to: '' }, "'to' must be a text of 1 to 5 characters"],
  [{ to: 'walter' }, "'to' must be a text of 1 to 5 characters"],
  [{ to: 7 }, "'to' must be a text of 1 to 5 characters"],
  [{ to: 'walt', kind: 'ask' }, "'kind' must be one of: note, task"],
  [{ to: 'walt', limit: 10 }, "'limit' must be a whole number from 0 to 9"],
  [{ to: 'walt', limit: '3' }, "'limit' must be a whole number from 0 to 9"],
  [{ to: 'walt', all: 'yes' }, "'all' must be true or false"],
  [{ to: 'walt', limit: 1.5 }, "'limit' must be a whole number from 0 to 9"],
  [{ to: 'walt', too: 'x' }, "there is no argument 'too'; there are: to, kind, limit, all, body"],
  [
    JSON.parse('{"__proto__": 1, "to": "walt"}'),
    "there is no argument '__proto__'; there are: to, kind, limit, all, body",
  ],
  [[], 'the arguments are not an object'],
  ['[1]', 'the arguments are not an object'],
  ['{', 'the arguments are not an object: the text is not JSON'],
])('%j is refused', (given, problem) => {
  expect(read(given)).toEqual({ problem });
});
