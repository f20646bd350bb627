import { expect, test } from 'vitest';
import type { Definition } from '../journal/definition-pins.ts';
import type { JournalPlace } from './journal-tests.ts';

const tool = (name: string, hash = `hash of ${name}`): Definition => ({
  kind: 'tool',
  name,
  hash,
  value: { name, inputSchema: { type: 'object' }, hash },
});

/** Tests the promises of the pinned definitions of every journal. */
export function pinTests(start: () => Promise<JournalPlace>): void {
  test('pins are kept for each server, with their definitions, also after a restart', async () => {
    await using t = await start();
    {
      await using journal = await t.open();
      const pins = await journal.pins.pin('shop', {
        definitions: [tool('order'), tool('pay')],
        firstOf: 'tool',
      });
      expect(pins).toMatchObject([{ name: 'order' }, { name: 'pay' }]);
      await journal.pins.pin('bank', { definitions: [tool('pay', 'other')], by: 'operator' });
    }
    await using journal = await t.open();
    const { seen, pins } = await journal.pins.of('shop');
    expect(seen).toEqual(['tool']);
    expect(pins).toMatchObject([
      { kind: 'tool', name: 'order', hash: 'hash of order' },
      { kind: 'tool', name: 'pay', hash: 'hash of pay' },
    ]);
    expect(await journal.pins.definition('shop', { kind: 'tool', name: 'pay' })).toEqual(tool('pay').value);
    expect((await journal.pins.of('bank')).pins).toMatchObject([{ hash: 'other', by: 'operator' }]);
    expect(await journal.pins.of('nobody')).toEqual({ seen: [], pins: [] });
    expect(await journal.pins.definition('shop', { kind: 'prompt', name: 'pay' })).toBeUndefined();
  });

  test('a pin replaces the earlier one of its definition and leaves all others', async () => {
    await using t = await start();
    await using journal = await t.open();
    await journal.pins.pin('shop', { definitions: [tool('order'), tool('pay')], firstOf: 'tool' });
    await journal.pins.pin('shop', { definitions: [tool('pay', 'new')], by: 'operator' });
    expect((await journal.pins.of('shop')).pins.map(({ name, hash }) => [name, hash])).toEqual([
      ['order', 'hash of order'],
      ['pay', 'new'],
    ]);
    expect(await journal.pins.definition('shop', { kind: 'tool', name: 'pay' })).toEqual(
      tool('pay', 'new').value,
    );
  });

  test('a kind is pinned at its first sight once: who sees it later gets the pins that are there', async () => {
    await using t = await start();
    await using journal = await t.open();
    await journal.pins.pin('shop', { definitions: [tool('order')], firstOf: 'tool' });
    const later = await journal.pins.pin('shop', {
      definitions: [tool('order', 'changed')],
      firstOf: 'tool',
    });
    expect(later).toMatchObject([{ name: 'order', hash: 'hash of order' }]);
    expect((await journal.pins.of('shop')).pins).toMatchObject([{ hash: 'hash of order' }]);
  });

  test('a kind that was seen without a definition is seen, and a restart changes nothing about that', async () => {
    await using t = await start();
    {
      await using journal = await t.open();
      await journal.pins.pin('shop', { definitions: [], firstOf: 'prompt' });
    }
    await using journal = await t.open();
    expect(await journal.pins.of('shop')).toEqual({ seen: ['prompt'], pins: [] });
  });
}
