import { describe, expect, it } from 'vitest';
import { FrameReader, type FrameReaderDeps } from './frame-reader.ts';
import { Turns } from './turns.ts';

function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

function readerOf(deps: Partial<FrameReaderDeps>): FrameReader {
  const turns = new Turns();
  return new FrameReader({
    handle: () => undefined,
    isOpen: () => true,
    mayAnswer: () => true,
    waitMs: () => 0,
    turn: () => turns.current,
    pause: () => {},
    resume: () => {},
    ...deps,
  });
}

describe('a reader of frames', () => {
  it.each([1, 100, 1000])('gives others their turn after 250 frames, in messages of %i', async (size) => {
    let handled = 0;
    const reader = readerOf({
      handle: () => {
        handled++;
        return undefined;
      },
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
