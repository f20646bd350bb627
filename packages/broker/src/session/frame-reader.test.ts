import { Turns } from '@signalbox/serving';
import { describe, expect, it } from 'vitest';
import { binary, FrameReader, type FrameReaderDeps } from './frame-reader.ts';

function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

function readerOf(deps: Partial<FrameReaderDeps>): FrameReader {
  return new FrameReader({
    handle: () => undefined,
    refuseBinary: () => {},
    isOpen: () => true,
    mayAnswer: () => true,
    waitMs: () => 0,
    turns: new Turns(),
    pause: () => {},
    resume: () => {},
    ...deps,
  });
}

describe('a reader of frames', () => {
  it.each([1, 100, 1000])('gives others their turn when its own is over, in messages of %i', async (size) => {
    const turns = new Turns();
    let handled = 0;
    const reader = readerOf({
      handle: () => {
        handled++;
        turns.spend(1);
        return undefined;
      },
      turns,
    });
    for (let i = 0; i < 1000 / size; i++) reader.receive('{}\n'.repeat(size));
    const perTurn: number[] = [];
    while (handled < 1000) {
      const before = handled;
      await nextTurn();
      perTurn.push(handled - before);
    }
    expect(handled).toBe(1000);
    expect(Math.max(...perTurn)).toBeLessThanOrEqual(250);
  });

  it('refuses binary messages in their order, in turns with others', async () => {
    const turns = new Turns();
    const events: string[] = [];
    const reader = readerOf({
      handle: (header) => {
        events.push(header);
        return undefined;
      },
      refuseBinary: () => {
        events.push('binary');
        turns.spend(200);
      },
      turns,
    });
    for (const message of ['a\n', binary, binary, 'b\n', binary] as const) reader.receive(message);
    expect(events).toEqual(['a', 'binary', 'binary']);
    while (turns.isOver) await nextTurn();
    expect(events).toEqual(['a', 'binary', 'binary', 'b', 'binary']);
  });

  it('is held up in the middle of a message while its agent is over its budget', async () => {
    const events: string[] = [];
    const resumed = Promise.withResolvers<void>();
    const waits = [20];
    const reader = readerOf({
      waitMs: () => waits.pop() ?? 0,
      pause: () => events.push('pause'),
      resume: () => resumed.resolve(),
    });
    reader.partArrived();
    expect([events, reader.isHeldUp]).toEqual([['pause'], true]);
    await resumed.promise;
    expect(reader.isHeldUp).toBe(false);
  });

  it('reads nothing and handles nothing while its agent is over its budget, and then goes on in order', async () => {
    const events: string[] = [];
    const resumed = Promise.withResolvers<void>();
    let waits = [0, 20, 0, 0];
    const reader = readerOf({
      handle: (header) => {
        events.push(header);
        return undefined;
      },
      waitMs: () => {
        const [now = 0, ...later] = waits;
        waits = later;
        return now;
      },
      pause: () => events.push('pause'),
      resume: () => {
        events.push('resume');
        resumed.resolve();
      },
    });
    reader.receive('a\nb\n');
    reader.receive('c\n');
    expect(events).toEqual(['a', 'pause']);
    expect(reader.isHeldUp).toBe(true);
    await resumed.promise;
    expect(events).toEqual(['a', 'pause', 'b', 'c', 'resume']);
    expect(reader.isHeldUp).toBe(false);
  });
});
