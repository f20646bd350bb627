import { expect, it } from 'vitest';
import { z } from 'zod';
import { parseYaml } from './index.ts';
import { pathText } from './path-text.ts';
import { schemaProblems } from './schema-problems.ts';

const shape = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('circle'), radius: z.number().positive() }),
  z.strictObject({ kind: z.literal('box'), sides: z.array(z.int().max(9)).min(1, { error: 'has no side' }) }),
]);
const schema = z.strictObject({
  colour: z.enum(['red', 'blue']).optional(),
  version: z.literal('v1').optional(),
  names: z.record(z.string().regex(/^[a-z]+$/, { error: 'must be of a to z' }), z.boolean()).optional(),
  shapes: z.array(shape).optional(),
  command: z.string().optional(),
  waitMs: z.int().optional(),
  perSeconds: z.int().optional(),
  maxBytes: z.int().optional(),
  isOpen: z.boolean().optional(),
  circle: z.strictObject({ radius: z.int(), colour: z.string({ error: 'must be a colour' }) }).optional(),
});

function problemsIn(document: unknown): string[] {
  const { error } = schema.safeParse(document);
  return schemaProblems(error!, schema, document).map(
    ({ at, key, message }) => `${pathText(key === undefined ? at : [...at, key])}: ${message}`,
  );
}

it.each([
  [
    [],
    [
      "(top level): must be a mapping (key: value), and is a list: write its entries without '- ' and without [ ]",
    ],
  ],
  [{ colour: 'rde' }, ["colour: must be one of: red, blue (did you mean 'red'?)"]],
  [{ version: 'v2' }, ["version: must be 'v1'"]],
  [{ color: 'red' }, ["color: unknown key 'color' (did you mean 'colour'?)"]],
  [
    { zzzzzzzz: 1 },
    [
      "zzzzzzzz: unknown key 'zzzzzzzz'; known here: colour, version, names, shapes, command, waitMs, perSeconds, maxBytes, isOpen, circle",
    ],
  ],
  [{ names: { A1: true } }, ['names.A1: must be of a to z']],
  [{ names: { a: 1 } }, ['names.a: must be true or false']],
  [{ shapes: [{}] }, ['shapes[0].kind: is missing; one of: circle, box']],
  [{ shapes: [{ kind: 'cirle' }] }, ["shapes[0].kind: must be one of: circle, box (did you mean 'circle'?)"]],
  [{ shapes: [{ kind: 'circle' }] }, ['shapes[0].radius: is missing']],
  [{ shapes: [{ kind: 'circle', radius: 0 }] }, ['shapes[0].radius: must be more than 0']],
  [{ shapes: [{ kind: 'box', sides: [10] }] }, ['shapes[0].sides[0]: must be at most 9']],
  [{ shapes: [{ kind: 'box', sides: [] }] }, ['shapes[0].sides: has no side']],
  [
    { shapes: [{ kind: 'box', sides: [1], sdies: 1 }] },
    ["shapes[0].sdies: unknown key 'sdies' (did you mean 'sides'?)"],
  ],
  [{ cmd: 'x' }, ["cmd: unknown key 'cmd' (did you mean 'command'?)"]],
  [{ commandToRun: 'x' }, ["commandToRun: unknown key 'commandToRun' (did you mean 'command'?)"]],
  [{ command: ['node', 'x.js'] }, ['command: must be one text, and is a list']],
  [{ waitMs: '60s' }, ['waitMs: must be a number of milliseconds: write 60000']],
  [{ waitMs: 'long' }, ['waitMs: must be a number of milliseconds']],
  [{ waitMs: '60000' }, ['waitMs: must be a number, without quotes']],
  [{ perSeconds: '1m' }, ['perSeconds: must be a number of seconds: write 60']],
  [{ maxBytes: '10MB' }, ['maxBytes: must be a number of bytes, without a unit, as in 1048576 for 1 MiB']],
  [{ isOpen: 'true' }, ['isOpen: must be true or false, without quotes']],
  [{ shapes: 'circle' }, ['shapes: must be a list: put it in [ ]']],
  [
    { names: ['a'] },
    ["names: must be a mapping (name: value), and is a list: write its entries without '- ' and without [ ]"],
  ],
  [
    { circle: null },
    [
      'circle: must be a mapping (key: value), with the keys radius, colour, and is empty: indent the lines that belong to it',
    ],
  ],
  [{ circle: { radius: 1, colour: 5 } }, ['circle.colour: must be a colour']],
])('says what is wrong with %j', (document, expected) => {
  expect(problemsIn(document)).toEqual(expected);
});

it('repeats no value, which may be a secret', () => {
  const document = { colour: 'hunter2', version: 'hunter2', names: 'hunter2', shapes: [{ kind: 'hunter2' }] };
  expect(problemsIn(document).join()).not.toContain('hunter2');
});

it.each([
  ['tools: [*]', ['a text that begins with * needs quotes, as in "*"']],
  ['tools: [*x]', ['the alias *x stands for nothing before it; put a text that begins with * in quotes']],
  ['a:\n\tb: 1', ['lines are indented with spaces, not with tabs']],
])('says once how the text %j is mended', (text, expected) => {
  expect(parseYaml(text, 'aliases allowed').syntaxProblems.map(({ message }) => message)).toEqual(expected);
});
