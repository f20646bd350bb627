import { expect, test } from 'vitest';
import { readMarkdown } from './markdown.ts';

const text = (one: string) => ({ is: 'text', text: one });

test('Headings, lists, quotes, code, tables and rules are blocks, and lists are nested.', () => {
  const lines = [
    ...['# Plan', '- one', '  1. inner', '- two', '', '> said', '```sh', '# not a heading', '```'],
    ...['| a | b |', '|---|---|', '| 1 | 2 |', '***', 'end'],
  ];
  expect(readMarkdown(lines.join('\n'))).toEqual([
    { is: 'heading', of: [text('Plan')] },
    {
      is: 'list',
      start: undefined,
      items: [
        [
          { is: 'paragraph', of: [text('one')] },
          { is: 'list', start: 1, items: [[{ is: 'paragraph', of: [text('inner')] }]] },
        ],
        [{ is: 'paragraph', of: [text('two')] }],
      ],
    },
    { is: 'quote', of: [{ is: 'paragraph', of: [text('said')] }] },
    { is: 'code', text: '# not a heading' },
    {
      is: 'table',
      rows: [
        [[text('a')], [text('b')]],
        [[text('1')], [text('2')]],
      ],
    },
    { is: 'rule' },
    { is: 'paragraph', of: [text('end')] },
  ]);
});

test('Emphasis, code, links and images are forms within a paragraph.', () => {
  expect(readMarkdown('**a** *b* `c*` [d](https://example.com/x) ![e](http://example.com/e.png)')).toEqual([
    {
      is: 'paragraph',
      of: [
        { is: 'strong', of: [text('a')] },
        text(' '),
        { is: 'emphasis', of: [text('b')] },
        text(' '),
        { is: 'code', text: 'c*' },
        text(' '),
        { is: 'link', href: 'https://example.com/x', of: [text('d')] },
        text(' '),
        { is: 'image', text: 'e', address: 'http://example.com/e.png' },
      ],
    },
  ]);
});

test.each([
  'plain text\nwith two lines',
  '2 * 3 * 4 and snake_case_names',
  '[a](javascript:alert(1))',
  '[a](#/system)',
  '[a](/api/tokens)',
  '[a](data:text/html,x)',
  '<b>bold</b> &lt;',
  'a \\*b\\* c',
  '**open',
  `long ${'*a* '.repeat(10_000)}`,
])('%j is no Markdown.', (one) => {
  expect(readMarkdown(one)).toBeUndefined();
});

test('What is nested without end is read at once, and deep parts stay text.', () => {
  const before = performance.now();
  for (const one of ['>', '- ', '[', '![', '**', '*_', '`', '[](', '| '])
    readMarkdown(`# x\n${one.repeat(20_000 / one.length - 10)}`);
  for (const one of ['> x\n', '- x\n', '  - x\n', '|-|\n', '```\n', '>\n\n'])
    readMarkdown(`# x\n${one.repeat(3000)}`);
  const spaces = ' '.repeat(3000);
  for (const end of ['y', '\r', '\u2028', '#', '# y']) readMarkdown(`# x${spaces}${end}`);
  for (const end of ['\r', '\u2028']) readMarkdown(`# ${spaces}${end}`);
  expect(performance.now() - before).toBeLessThan(5000);
});

test('A line may end as on Windows, and a heading with marks of its own.', () => {
  const lines = ['# C# ##', '- one', '- two', '', '```', 'code', '```', '## ##'];
  expect(readMarkdown(lines.join('\r\n'))).toEqual(readMarkdown(lines.join('\n')));
  expect(readMarkdown('# C# ##\r\n# C#')).toEqual([
    { is: 'heading', of: [text('C#')] },
    { is: 'heading', of: [text('C#')] },
  ]);
});
