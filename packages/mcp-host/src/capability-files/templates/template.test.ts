import fc from 'fast-check';
import { expect, it } from 'vitest';
import { fillText, fillValue, parseTemplate, soleName } from './template.ts';
import { TemplateCompiler } from './template-compiler.ts';

const reader = () =>
  new TemplateCompiler({ known: new Set(['a', 'b', 'given name']), certain: new Set(['a']) });

it.each([
  ['plain', ['plain']],
  ['', []],
  ['{a}', [{ name: 'a' }]],
  ['x{a}y{b}', ['x', { name: 'a' }, 'y', { name: 'b' }]],
  ['{{a}}', ['{a}']],
  ['{{{a}}}', ['{', { name: 'a' }, '}']],
  ['{given name}', [{ name: 'given name' }]],
  ['{a', undefined],
  ['a}', undefined],
  ['{}', undefined],
  ['{{a}', undefined],
])('reads %j', (text, expected) => {
  expect(parseTemplate(text)).toEqual(expected);
});

it('any text stands for itself once its braces are doubled', () => {
  fc.assert(
    fc.property(fc.string(), (text) => {
      const template = parseTemplate(text.replaceAll('{', '{{').replaceAll('}', '}}'));
      expect(fillText(template!, {}, (value) => value)).toBe(text);
    }),
  );
});

it('a value that is the whole text keeps its type, and is never read as a template itself', () => {
  const template = reader().value('{a}', []);
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      expect(fillValue(template, { a: value })).toEqual(value);
    }),
  );
  const inText = reader().value('<{a}>', []);
  expect(fillValue(inText, { a: '{b}', b: 'other' })).toBe('<{b}>');
  expect(fillValue(inText, { a: { n: [1] } })).toBe('<{"n":[1]}>');
});

it('leaves out keys and items without a value, and what an object inherits is no value', () => {
  const template = reader().value({ one: '{a}', two: '{b}', list: ['{b}', 1, null] }, []);
  expect(fillValue(template, { a: false })).toEqual({ one: false, list: [1, null] });
  const inherited = new TemplateCompiler({ known: new Set(['toString']), certain: new Set() });
  expect(fillValue(inherited.value({ x: '{toString}' }, []), {})).toEqual({});
});

it('says what is wrong with a template, and where', () => {
  const read = reader();
  read.value({ x: ['{a}', 'say {c}', '{'], y: 'to {b}' }, ['config']);
  read.requiredText('/{b}/{given nome}', ['path']);
  expect(read.problems).toEqual([
    { path: ['config', 'x', 1], message: '{c} is no property of schema.input' },
    {
      path: ['config', 'x', 2],
      message: "holds a brace that belongs to no {placeholder}; write '{{' or '}}' for a brace itself",
    },
    {
      path: ['config', 'y'],
      message: '{b} is part of a longer text, so schema.input must require it or give it a default',
    },
    { path: ['path'], message: "{given nome} is no property of schema.input (did you mean 'given name'?)" },
    {
      path: ['path'],
      message: '{b} is part of a longer text, so schema.input must require it or give it a default',
    },
  ]);
});

it('knows a text that is one placeholder', () => {
  expect(['{a}', ' {a}', '{a}{b}', 'a', ''].map((text) => soleName(parseTemplate(text)!))).toEqual([
    'a',
    undefined,
    undefined,
    undefined,
    undefined,
  ]);
});
