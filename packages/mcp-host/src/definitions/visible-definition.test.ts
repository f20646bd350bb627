import type { Tool } from '@signalbox/protocol';
import { expect, test } from 'vitest';
import { visiblePrompt, visibleResource, visibleTool } from './visible-definition.ts';

const hidden = 'Adds.\u{e0041}\u{e0042}';
const seen = 'Adds.\\u{e0041}\\u{e0042}';

test('Texts that a model reads show what nobody would see, those of arguments included.', () => {
  const tool: Tool = {
    name: 'add',
    title: 'A\u202edd',
    description: hidden,
    inputSchema: {
      type: 'object',
      description: hidden,
      properties: {
        a: { type: 'number', description: hidden },
        description: { type: 'array', items: { anyOf: [{ title: hidden }] } },
      },
      $defs: { b: { $comment: hidden } },
    },
    outputSchema: { type: 'object', properties: { n: { description: '\x1b[8mhidden' } } },
    annotations: { title: hidden, readOnlyHint: true },
  };
  expect(visibleTool(tool)).toEqual({
    hidden: false,
    tool: {
      name: 'add',
      title: 'A\\u202edd',
      description: seen,
      inputSchema: {
        type: 'object',
        description: seen,
        properties: {
          a: { type: 'number', description: seen },
          description: { type: 'array', items: { anyOf: [{ title: seen }] } },
        },
        $defs: { b: { $comment: seen } },
      },
      outputSchema: { type: 'object', properties: { n: { description: '\\x1b[8mhidden' } } },
      annotations: { title: seen, readOnlyHint: true },
    },
  });
});

test('Values that arguments are compared with stay as they are, and are told.', () => {
  const schema = (property: Record<string, unknown>) => ({
    name: 'add',
    inputSchema: { type: 'object' as const, properties: { a: property } },
  });
  for (const property of [
    { enum: [hidden] },
    { const: hidden },
    { pattern: '\u0000' },
    { default: { description: hidden } },
    { properties: { [hidden]: {} } },
  ]) {
    const shown = visibleTool(schema(property));
    expect(shown).toEqual({ tool: schema(property), hidden: true });
  }
  expect(visibleTool(schema({ enum: ['\t', 'é', '👩‍🚀'] })).hidden).toBe(false);
});

test('A tool without invisible characters is the same object, so that nothing is announced as changed.', () => {
  for (const description of ['Adds.', 'Fügt\r\nan: 日本 👩‍🚀'])
    for (const tool of [{ name: 'add', description, inputSchema: { type: 'object' as const } }])
      expect(visibleTool(tool).tool).toBe(tool);
});

test('Prompts and resources show it, too; their names and addresses stay where requests need them.', () => {
  const prompt = { name: hidden, description: hidden, arguments: [{ name: hidden, description: hidden }] };
  expect(visiblePrompt(prompt)).toEqual({
    name: hidden,
    description: seen,
    arguments: [{ name: hidden, description: seen }],
  });
  const resource = { uri: 'x://a', name: hidden, description: hidden };
  expect(visibleResource(resource)).toEqual({ uri: 'x://a', name: seen, description: seen });
});
