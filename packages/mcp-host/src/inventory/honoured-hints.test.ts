import { expect, it } from 'vitest';
import { HonouredHints } from './honoured-hints.ts';

const tool = (name: string, annotations?: Record<string, unknown>) => ({
  name,
  inputSchema: { type: 'object' as const },
  ...(annotations && { annotations }),
});
const list = (...tools: ReturnType<typeof tool>[]) => ({ tools, problems: [] });

/** Returns the honoured annotations of one tool that declares these one after the other. */
function inTurn(...annotations: (Record<string, unknown> | undefined)[]) {
  const hints = new HonouredHints();
  return annotations.map((declared) => hints.apply(list(tool('t', declared))).tools[0]!.annotations);
}

it('honours what the first list declares, and takes over what grants less', () => {
  const first = { readOnlyHint: true, idempotentHint: true, destructiveHint: false, openWorldHint: false };
  const less = { readOnlyHint: false, destructiveHint: true, title: 'T' };
  expect(inTurn(first, first, less, undefined)).toEqual([first, first, less, undefined]);
});

it.each([
  ['readOnlyHint', true, false],
  ['readOnlyHint', 'yes', false],
  ['idempotentHint', true, false],
  ['destructiveHint', false, true],
  ['destructiveHint', null, true],
  ['openWorldHint', false, true],
])(
  'withholds %s: %j of a tool that did not declare it, and keeps its other annotations',
  (hint, value, shown) => {
    expect(inTurn({ title: 'T' }, { title: 'T', [hint]: value })).toEqual([
      { title: 'T' },
      { title: 'T', [hint]: shown },
    ]);
  },
);

it('withholds a grant that was taken back once', () => {
  const readOnly = { readOnlyHint: true };
  expect(inTurn(readOnly, undefined, readOnly)).toEqual([readOnly, undefined, { readOnlyHint: false }]);
});

it('remembers a tool that is away for a while, and grants nothing to one that comes later', () => {
  const hints = new HonouredHints();
  const safe = { readOnlyHint: true };
  hints.apply(list(tool('a', safe), tool('b')));
  hints.apply(list());
  const { tools, problems, withheld } = hints.apply(list(tool('a', safe), tool('b', safe), tool('c', safe)));
  expect(tools.map(({ annotations }) => annotations?.readOnlyHint)).toEqual([true, false, false]);
  expect(withheld).toEqual(
    new Map([
      ['b', ['readOnlyHint']],
      ['c', ['readOnlyHint']],
    ]),
  );
  expect(problems.map((problem) => problem.tool)).toEqual(['b', 'c']);
});

it('honours everything after it was told to forget', () => {
  const hints = new HonouredHints();
  hints.apply(list(tool('t')));
  const safe = list(tool('t', { readOnlyHint: true }));
  expect(hints.apply(safe)).not.toEqual(safe);
  hints.forget();
  expect(hints.apply(safe)).toBe(safe);
});

it('reports ten tools one by one, and counts the others', () => {
  const hints = new HonouredHints();
  hints.apply(list());
  const many = Array.from({ length: 100 }, (_, i) =>
    tool(`t${i}`, { idempotentHint: true, destructiveHint: false }),
  );
  const { problems } = hints.apply(list(...many));
  expect(problems).toHaveLength(11);
  expect(problems[0]).toEqual({
    tool: 't0',
    message:
      'its server now declares idempotentHint: true and destructiveHint: false, which is not honoured until the server is reloaded',
  });
  expect(problems[10]).toMatchObject({ tool: 't10', message: expect.stringContaining('and 89 more tools') });
});
