import { expect, test } from 'vitest';
import { combinedTools } from './combined-tools.ts';
import type { FaceTools } from './face-tools.ts';

const part = (label: string, names: string[], takesAll = false): FaceTools => ({
  list: () => names.map((name) => ({ name, title: label, inputSchema: { type: 'object' } })),
  call: ({ name }) =>
    takesAll || names.includes(name)
      ? Promise.resolve({ result: { content: [{ type: 'text', text: label }] } })
      : undefined,
  onChanged: () => () => {},
  instructions: () => [label],
});

test('of two tools of one name the earlier set is called and listed, and earlier sets come first', async () => {
  const own = part('own', ['a', 'same']);
  const hosted = part('hosted', ['same', 'b'], true);
  const tools = combinedTools([own, hosted]);
  expect(tools.list().map(({ name, title }) => `${title} ${name}`)).toEqual([
    'own a',
    'own same',
    'hosted b',
  ]);
  expect(tools.instructions()).toEqual(['own', 'hosted']);
  const { signal } = new AbortController();
  const answers = ['a', 'same', 'b', 'other'].map((name) =>
    tools.call({ name, arguments: {}, signal, round: { clientCapabilities: {} } }),
  );
  const labels = (await Promise.all(answers)).map((answer) => Object(answer?.result).content[0].text);
  expect(labels).toEqual(['own', 'own', 'hosted', 'hosted']);
  expect(
    own.call({ name: 'other', arguments: {}, signal, round: { clientCapabilities: {} } }),
  ).toBeUndefined();
});
