import { describe, expect, it } from 'vitest';
import { Slices } from './slices.ts';

function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

function reader(name: string, events: string[]) {
  return {
    stopReading: () => void events.push(`${name} stops`),
    readOn: () => void events.push(`${name} reads on`),
  };
}

describe('slices', () => {
  it('stop every connection of an agent when one has used the slice, and go on with the one that was read the longest ago', async () => {
    const events: string[] = [];
    const slices = new Slices();
    const [a, b] = [reader('a', events), reader('b', events)];
    slices.add(a);
    slices.add(b);
    slices.wasRead(a, 249);
    expect([slices.isOver, events]).toEqual([false, []]);
    slices.spend(1);
    expect([slices.isOver, events]).toEqual([true, ['b stops', 'a stops']]);
    slices.add(reader('c', events));
    expect(events.at(-1)).toBe('c stops');
    await nextTurn();
    expect(events.slice(3)).toEqual(['b reads on', 'a reads on', 'c reads on']);
  });

  it('are whole again in the next slice of the event loop when they were not used up', async () => {
    const slices = new Slices();
    for (let i = 0; i < 10; i++) {
      slices.spend(249);
      expect(slices.isOver).toBe(false);
      await nextTurn();
    }
    slices.spend(250);
    expect(slices.isOver).toBe(true);
  });

  it('make a large piece of work wait for as many slices as it takes', async () => {
    const slices = new Slices();
    slices.spend(1000);
    let waited = 0;
    for (; slices.isOver; waited++) await nextTurn();
    expect(waited).toBe(4);
  });

  it('of agents who share others are over when those are, and go on with the one that waited first', async () => {
    const events: string[] = [];
    const shared = new Slices(500);
    const [a, b, c] = [new Slices(250, shared), new Slices(250, shared), new Slices(250, shared)];
    const ofC = reader('c', events);
    c.add(ofC);
    a.spend(250);
    expect([a.isOver, b.isOver, c.isOver]).toEqual([true, false, false]);
    b.spend(250);
    expect([c.isOver, events]).toEqual([true, ['c stops']]);
    const order: string[] = [];
    for (const [name, slices] of Object.entries({ c, a, b })) {
      slices.take(() => {
        order.push(name);
        slices.spend(250);
      });
    }
    expect(order).toEqual([]);
    await nextTurn();
    expect(order).toEqual(['c', 'a']);
    await nextTurn();
    expect(order).toEqual(['c', 'a', 'b']);
  });

  it('are taken one after the other, and nobody is passed over who waits', async () => {
    const slices = new Slices();
    const order: string[] = [];
    const work = (name: string, times: number): void => {
      order.push(name);
      slices.spend(250);
      if (times > 1) slices.take(() => work(name, times - 1));
    };
    work('a', 3);
    slices.take(() => work('b', 2));
    slices.take(() => work('c', 1));
    while (slices.isOver) await nextTurn();
    expect(order).toEqual(['a', 'a', 'b', 'c', 'a', 'b']);
  });
});
