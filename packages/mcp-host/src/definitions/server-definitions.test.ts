import { expect, test } from 'vitest';
import { definitionOf, definitionsOf, keyText } from './definition.ts';
import type { DefinitionPins, Pin } from './definition-pins.ts';
import { ServerDefinitions } from './server-definitions.ts';

/** Pins that last as long as the object, in place of a disk that `fails` may break. */
function pinStore() {
  const pins = new Map<string, Pin>();
  const seen = new Set<Pin['kind']>();
  const disk = { fails: false, pins };
  const store: DefinitionPins = {
    of: () => ({ seen: [...seen], pins: [...pins.values()] }),
    definition: () => undefined,
    pin(_, { definitions, by, firstOf }) {
      if (disk.fails) throw new Error('the disk is full');
      if (firstOf) seen.add(firstOf);
      return definitions.map(({ kind, name, hash }) => {
        const pin = { kind, name, hash, at: 1, ...(by !== undefined && { by }) };
        pins.set(keyText(pin), pin);
        return pin;
      });
    },
  };
  return { store, disk };
}

const tool = (name: string, description: string, more = {}) => ({
  name,
  description,
  inputSchema: { type: 'object' as const },
  ...more,
});
const tools = (...list: ReturnType<typeof tool>[]) => definitionsOf('tool', list);
const [first, second, third] = [tool('read', 'Reads.'), tool('read', 'Reads all.'), tool('read', 'Sends.')];

test('What a server offers first is pinned; what changes or comes later is withheld until it is accepted.', () => {
  const { store } = pinStore();
  const definitions = new ServerDefinitions('s', store);
  expect(definitions.review('tool', tools(first))).toEqual(new Map());
  const changed = definitions.review('tool', tools(second, tool('write', 'Writes.')));
  expect([...changed].map(([name, { what }]) => [name, what])).toEqual([
    ['read', 'changed'],
    ['write', 'new'],
  ]);
  const { hash } = changed.get('read')!;
  expect(definitions.accept([{ kind: 'tool', name: 'read', hash }], 'operator.ann')).toEqual([]);
  expect([...definitions.review('tool', tools(second)).keys()]).toEqual([]);
  expect(definitions.compared()).toMatchObject([
    { name: 'read', state: 'pinned', pin: { by: 'operator.ann' } },
  ]);
});

test('A server that flips between two definitions is offered only while it shows the accepted one.', () => {
  const { store } = pinStore();
  const definitions = new ServerDefinitions('s', store);
  const withheld = [first, second, first, second, first].map(
    (shown) => definitions.review('tool', tools(shown)).size,
  );
  expect(withheld).toEqual([0, 1, 0, 1, 0]);
});

test('Only what was seen is accepted: a change after the look accepts nothing, not even what has not changed.', () => {
  const { store } = pinStore();
  const definitions = new ServerDefinitions('s', store);
  definitions.review('tool', tools(first));
  const looked = definitions.review('tool', tools(second, tool('write', 'Writes.')));
  const seen = Array.from(looked, ([name, { hash }]) => ({ kind: 'tool' as const, name, hash }));
  definitions.review('tool', tools(third, tool('write', 'Writes.')));
  expect(definitions.accept(seen, 'ann')).toEqual([{ kind: 'tool', name: 'read' }]);
  expect(definitions.review('tool', tools(third, tool('write', 'Writes.'))).size).toBe(2);
});

test('A tool that goes and comes back is offered at once if it is the same, and withheld if not.', () => {
  const { store } = pinStore();
  const definitions = new ServerDefinitions('s', store);
  definitions.review('tool', tools(first));
  expect(definitions.review('tool', []).size).toBe(0);
  expect(definitions.compared()).toMatchObject([{ name: 'read', state: 'gone' }]);
  expect(definitions.review('tool', tools(first)).size).toBe(0);
  definitions.review('tool', []);
  expect(definitions.review('tool', tools(second)).get('read')?.what).toBe('changed');
});

test('A server that first offers nothing, or of one kind only, cannot bring anything later unseen.', () => {
  const { store } = pinStore();
  const pinned: string[] = [];
  const definitions = new ServerDefinitions('s', store, (kind, count) => pinned.push(`${count} ${kind}`));
  definitions.review('tool', []);
  expect(definitions.review('tool', tools(first)).get('read')?.what).toBe('new');
  const prompt = definitionOf('prompt', 'read', { name: 'read' });
  expect(definitions.review('prompt', [prompt]).size).toBe(0);
  expect(pinned).toEqual(['1 prompt']);
  const again = new ServerDefinitions('s', store);
  expect(again.review('tool', tools(first)).get('read')?.what).toBe('new');
});

test('Where nothing can be written down, everything is withheld, and pinned once it can.', () => {
  const { store, disk } = pinStore();
  const definitions = new ServerDefinitions('s', store);
  disk.fails = true;
  expect(definitions.review('tool', tools(first)).get('read')?.what).toBe('new');
  expect(definitions.problem).toContain('the disk is full');
  disk.fails = false;
  expect(definitions.review('tool', tools(first)).size).toBe(0);
  expect(definitions.problem).toBeUndefined();
});

test('A damaged pin pins nothing: its tool is withheld, whatever its server says.', () => {
  const { store, disk } = pinStore();
  new ServerDefinitions('s', store).review('tool', tools(first));
  for (const [key, pin] of disk.pins) disk.pins.set(key, { ...pin, isDamaged: true });
  const definitions = new ServerDefinitions('s', store);
  expect(definitions.review('tool', tools(first)).get('read')?.what).toBe('changed');
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
