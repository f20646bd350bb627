import { expect, test } from 'vitest';
import { withKeptResults } from './output-schema.ts';

const tool = (outputSchema?: Record<string, unknown>) => ({
  name: 'a',
  inputSchema: { type: 'object' as const },
  ...(outputSchema && { outputSchema }),
});
const preview = {
  type: 'object',
  properties: { signalbox_kept_result: { type: 'object' } },
  required: ['signalbox_kept_result'],
};

test('The schema of a result also allows the data of a preview, and its definitions stay at the root.', () => {
  const item = { type: 'object', properties: { next: { $ref: '#/$defs/item' }, all: { $ref: '#' } } };
  const changed = withKeptResults(
    tool({ $schema: 'https://json-schema.org/draft/2020-12/schema', ...item, $defs: { item } }),
  );
  expect(changed.outputSchema).toEqual({
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    type: 'object',
    anyOf: [item, preview],
    $defs: { item },
  });
});

test('A schema whose references would lead elsewhere is left out.', () => {
  for (const schema of [
    { type: 'object', properties: { a: { $ref: '#/properties/b' }, b: {} } },
    { type: 'object', allOf: [{ $id: 'urn:a' }] },
    { type: 'object', $ref: 'other.json' },
  ])
    expect(withKeptResults(tool(schema))).toEqual(tool());
});

test('A tool without a schema stays as it is, and a tool is changed once.', () => {
  const plain = tool();
  expect(withKeptResults(plain)).toBe(plain);
  const typed = tool({ type: 'object' });
  expect(withKeptResults(typed)).toBe(withKeptResults(typed));
  expect(typed.outputSchema).toEqual({ type: 'object' });
});
