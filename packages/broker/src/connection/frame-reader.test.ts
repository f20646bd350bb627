import { Slices } from '@signalbox/serving';
import { describe, expect, it } from 'vitest';
import { binary, FrameReader, type FrameReaderDeps } from './frame-reader.ts';

function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

function readerOf(deps: Partial<FrameReaderDeps>): FrameReader {
  const { slices = new Slices() } = deps;
  return new FrameReader({
    handle: () => undefined,
    countMessage: () => {},
    refuseBinary: () => {},
    obstacle: () => (slices.isOver ? 'slice is over' : undefined),
    slices,
    pause: () => {},
    resume: () => {},
    ...deps,
  });
}

describe('a reader of frames', () => {
  it.each([1, 100, 1000])(
    'gives others their slice when its own is over, in messages of %i',
    async (size) => {
      const slices = new Slices();
      let handled = 0;
      const reader = readerOf({
        handle: () => {
          handled++;
          slices.spend(1);
          return undefined;
        },
        slices,
      });
      for (let i = 0; i < 1000 / size; i++) reader.receive('{}\n'.repeat(size), 3 * size);
      const perSlice: number[] = [];
      while (handled < 1000) {
        const before = handled;
        await nextTurn();
        perSlice.push(handled - before);
      }
      expect(handled).toBe(1000);
      expect(Math.max(...perSlice)).toBeLessThanOrEqual(250);
    },
  );

  it('refuses binary messages in their order, in slices with others', async () => {
    const slices = new Slices();
    const events: string[] = [];
    const reader = readerOf({
      handle: (header) => {
        events.push(header);
        return undefined;
      },
      refuseBinary: () => {
        events.push('binary');
        slices.spend(200);
      },
      slices,
    });
    for (const message of ['a\n', binary, binary, 'b\n', binary] as const) reader.receive(message, 2);
    expect(events).toEqual(['a', 'binary', 'binary']);
    while (slices.isOver) await nextTurn();
    expect(events).toEqual(['a', 'binary', 'binary', 'b', 'binary']);
  });

  it('is held up in the middle of a message while its agent is over its budget', async () => {
    const events: string[] = [];
    const resumed = Promise.withResolvers<void>();
    const reader = readerOf({
      pause: () => events.push('pause'),
      resume: () => resumed.resolve(),
    });
    reader.holdUp(20);
    expect([events, reader.isHeldUp]).toEqual([['pause'], true]);
    await resumed.promise;
    expect(reader.isHeldUp).toBe(false);
  });

  it('reads nothing and handles nothing while its agent is over its budget, and then goes on in order', async () => {
    const events: string[] = [];
    const resumed = Promise.withResolvers<void>();
    let waits: (number | undefined)[] = [undefined, 20];
    const reader = readerOf({
      handle: (header) => {
        events.push(header);
        return undefined;
      },
      obstacle: () => {
        const [now, ...later] = waits;
        waits = later;
        return now;
      },
      pause: () => events.push('pause'),
      resume: () => {
        events.push('resume');
        resumed.resolve();
      },
    });
    reader.receive('a\nb\n', 4);
    reader.receive('c\n', 2);
    expect(events).toEqual(['a', 'pause']);
    expect(reader.isHeldUp).toBe(true);
    await resumed.promise;
    expect(events).toEqual(['a', 'pause', 'b', 'c', 'resume']);
    expect(reader.isHeldUp).toBe(false);
  });

  it('asks once for each frame whether it may be handled, and counts each message once: with its first frame, or alone', () => {
    const events: string[] = [];
    let mustWait = false;
    const reader = readerOf({
      handle: (header, _, messageBytes) => {
        events.push(messageBytes === undefined ? header : `${header} with a message of ${messageBytes}`);
        return undefined;
      },
      countMessage: (bytes) => events.push(`a message of ${bytes}`),
      obstacle: () => {
        events.push('asked');
        return mustWait ? 'answers wait' : undefined;
      },
    });
    reader.receive('a\nb\n', 4);
    expect(events).toEqual(['asked', 'a with a message of 4', 'asked', 'b']);
    events.length = 0;
    reader.receive('', 0);
    mustWait = true;
    reader.receive('c\n', 2);
    reader.receive('d\n', 3);
    expect(events).toEqual(['a message of 0', 'asked', 'a message of 2', 'a message of 3']);
    events.length = 0;
    mustWait = false;
    reader.wake();
    expect(events).toEqual(['asked', 'c', 'asked', 'd']);
  });
});
