import { describe, expect, it } from 'vitest';
import { Turns } from './turns.ts';

function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

function reader(name: string, events: string[]) {
  return {
    stopReading: () => void events.push(`${name} stops`),
    readOn: () => void events.push(`${name} reads on`),
  };
}

describe('turns', () => {
  it('stop every connection of an agent when one has used the turn, and go on with the one that was read the longest ago', async () => {
    const events: string[] = [];
    const turns = new Turns();
    const [a, b] = [reader('a', events), reader('b', events)];
    turns.add(a);
    turns.add(b);
    turns.wasRead(a, 249);
    expect([turns.isOver, events]).toEqual([false, []]);
    turns.spend(1);
    expect([turns.isOver, events]).toEqual([true, ['b stops', 'a stops']]);
    turns.add(reader('c', events));
    expect(events.at(-1)).toBe('c stops');
    await nextTurn();
    expect(events.slice(3)).toEqual(['b reads on', 'a reads on', 'c reads on']);
  });

  it('are whole again in the next turn of the event loop when they were not used up', async () => {
    const turns = new Turns();
    for (let i = 0; i < 10; i++) {
      turns.spend(249);
      expect(turns.isOver).toBe(false);
      await nextTurn();
    }
    turns.spend(250);
    expect(turns.isOver).toBe(true);
  });

  it('make a large piece of work wait for as many turns as it takes', async () => {
    const turns = new Turns();
    turns.spend(1000);
    let waited = 0;
    for (; turns.isOver; waited++) await nextTurn();
    expect(waited).toBe(4);
  });

  it('of agents who share others are over when those are, and go on with the one that waited first', async () => {
    const events: string[] = [];
    const shared = new Turns(500);
    const [a, b, c] = [new Turns(250, shared), new Turns(250, shared), new Turns(250, shared)];
    const ofC = reader('c', events);
    c.add(ofC);
    a.spend(250);
    expect([a.isOver, b.isOver, c.isOver]).toEqual([true, false, false]);
    b.spend(250);
    expect([c.isOver, events]).toEqual([true, ['c stops']]);
    const order: string[] = [];
    for (const [name, turns] of Object.entries({ c, a, b })) {
      turns.take(() => {
        order.push(name);
        turns.spend(250);
      });
    }
    expect(order).toEqual([]);
    await nextTurn();
    expect(order).toEqual(['c', 'a']);
    await nextTurn();
    expect(order).toEqual(['c', 'a', 'b']);
  });

  it('are taken one after the other, and nobody is passed over who waits', async () => {
    const turns = new Turns();
    const order: string[] = [];
    const work = (name: string, times: number): void => {
      order.push(name);
      turns.spend(250);
      if (times > 1) turns.take(() => work(name, times - 1));
    };
    work('a', 3);
    turns.take(() => work('b', 2));
    turns.take(() => work('c', 1));
    while (turns.isOver) await nextTurn();
    expect(order).toEqual(['a', 'a', 'b', 'c', 'a', 'b']);
  });
});
