import type { DefinitionPins, Pin } from '@signalbox/store/journal';
import { expect, test } from 'vitest';
import { definitionOf, definitionsOf, keyText } from './definition.ts';
import { ServerDefinitions } from './server-definitions.ts';

/** Pins that last as long as the object, in place of a disk that `fails` may break. */
function pinStore() {
  const pins = new Map<string, Pin>();
  const seen = new Set<Pin['kind']>();
  const disk = { fails: false, pins };
  const store: DefinitionPins = {
    of: async () => ({ seen: [...seen], pins: [...pins.values()] }),
    definition: async () => undefined,
    async pin(_, { definitions, by, firstOf }) {
      if (disk.fails) throw new Error('the disk is full');
      if (firstOf) seen.add(firstOf);
      return definitions.map(({ kind, name, hash }) => {
        const pin = { kind, name, hash, at: 1, ...(by !== undefined && { by }) };
        pins.set(keyText(pin), pin);
        return pin;
      });
    },
    onChanged: () => () => {},
  };
  return { store, disk };
}

/** Shows a list of tools or prompts to the definitions, as a server does. */
async function show(
  definitions: ServerDefinitions,
  kind: 'tool' | 'prompt',
  list: Parameters<ServerDefinitions['meet']>[1],
) {
  await definitions.meet(kind, list);
  return definitions.review(kind, list);
}

const tool = (name: string, description: string, more = {}) => ({
  name,
  description,
  inputSchema: { type: 'object' as const },
  ...more,
});
const tools = (...list: ReturnType<typeof tool>[]) => definitionsOf('tool', list);
const [first, second, third] = [tool('read', 'Reads.'), tool('read', 'Reads all.'), tool('read', 'Sends.')];

test('What a server lists first is pinned; what changes or comes later is withheld until it is accepted.', async () => {
  const { store } = pinStore();
  const definitions = new ServerDefinitions('s', store);
  expect(await show(definitions, 'tool', tools(first))).toEqual(new Map());
  const changed = await show(definitions, 'tool', tools(second, tool('write', 'Writes.')));
  expect([...changed].map(([name, { what }]) => [name, what])).toEqual([
    ['read', 'changed'],
    ['write', 'new'],
  ]);
  const { hash } = changed.get('read')!;
  expect(await definitions.accept([{ kind: 'tool', name: 'read', hash }], 'operator.ann')).toEqual([]);
  expect([...(await show(definitions, 'tool', tools(second))).keys()]).toEqual([]);
  expect(definitions.compared()).toMatchObject([
    { name: 'read', state: 'pinned', pin: { by: 'operator.ann' } },
  ]);
});

test('A server that flips between two definitions is shown only while it shows the accepted one.', async () => {
  const { store } = pinStore();
  const definitions = new ServerDefinitions('s', store);
  const withheld: number[] = [];
  for (const shown of [first, second, first, second, first])
    withheld.push((await show(definitions, 'tool', tools(shown))).size);
  expect(withheld).toEqual([0, 1, 0, 1, 0]);
});

test('Only what was seen is accepted: a change after the look accepts nothing, not even what has not changed.', async () => {
  const { store } = pinStore();
  const definitions = new ServerDefinitions('s', store);
  await show(definitions, 'tool', tools(first));
  const looked = await show(definitions, 'tool', tools(second, tool('write', 'Writes.')));
  const seen = Array.from(looked, ([name, { hash }]) => ({ kind: 'tool' as const, name, hash }));
  await show(definitions, 'tool', tools(third, tool('write', 'Writes.')));
  expect(await definitions.accept(seen, 'ann')).toEqual([{ kind: 'tool', name: 'read' }]);
  expect((await show(definitions, 'tool', tools(third, tool('write', 'Writes.')))).size).toBe(2);
});

test('A tool that goes and comes back is shown at once if it is the same, and withheld if not.', async () => {
  const { store } = pinStore();
  const definitions = new ServerDefinitions('s', store);
  await show(definitions, 'tool', tools(first));
  expect((await show(definitions, 'tool', [])).size).toBe(0);
  expect(definitions.compared()).toMatchObject([{ name: 'read', state: 'gone' }]);
  expect((await show(definitions, 'tool', tools(first))).size).toBe(0);
  await show(definitions, 'tool', []);
  expect((await show(definitions, 'tool', tools(second))).get('read')?.what).toBe('changed');
});

test('A server that first lists nothing, or of one kind only, cannot bring anything later unseen.', async () => {
  const { store } = pinStore();
  const pinned: string[] = [];
  const definitions = new ServerDefinitions('s', store, (kind, count) => pinned.push(`${count} ${kind}`));
  await show(definitions, 'tool', []);
  expect((await show(definitions, 'tool', tools(first))).get('read')?.what).toBe('new');
  const prompt = definitionOf('prompt', 'read', { name: 'read' });
  expect((await show(definitions, 'prompt', [prompt])).size).toBe(0);
  expect(pinned).toEqual(['1 prompt']);
  const again = new ServerDefinitions('s', store);
  expect((await show(again, 'tool', tools(first))).get('read')?.what).toBe('new');
});

test('Where nothing can be written down, everything is withheld, and pinned once it can.', async () => {
  const { store, disk } = pinStore();
  const definitions = new ServerDefinitions('s', store);
  disk.fails = true;
  expect((await show(definitions, 'tool', tools(first))).get('read')?.what).toBe('new');
  expect(definitions.problem).toContain('the disk is full');
  disk.fails = false;
  expect((await show(definitions, 'tool', tools(first))).size).toBe(0);
  expect(definitions.problem).toBeUndefined();
});

test('A damaged pin pins nothing: its tool is withheld, even if its server has not changed it.', async () => {
  const { store, disk } = pinStore();
  await show(new ServerDefinitions('s', store), 'tool', tools(first));
  for (const [key, pin] of disk.pins) disk.pins.set(key, { ...pin, isDamaged: true });
  const definitions = new ServerDefinitions('s', store);
  expect((await show(definitions, 'tool', tools(first))).get('read')?.what).toBe('changed');
});

test('Every field of a definition counts, and their order does not.', () => {
  const hashOf = (value: unknown) => definitionOf('tool', 'read', value).hash;
  const { name, description, inputSchema } = first;
  expect(hashOf({ inputSchema, description, name })).toBe(hashOf(first));
  const others = [
    tool('read', 'Reads.', { title: 'Read' }),
    tool('read', 'Reads.', { annotations: { readOnlyHint: true } }),
    tool('read', 'Reads.', { outputSchema: {} }),
    tool('read', 'Reads.', { _meta: { 'x/ui': 'ui://evil' } }),
    tool('read', 'Reads.\u200b'),
    tool('read', 'Reads.\\u200b'),
    tool('read', '\ud800'),
  ];
  expect(new Set([first, ...others].map(hashOf)).size).toBe(8);
});
