import { describe, expect, it } from 'vitest';
import { FrameLane } from './outbox.ts';

const KiB = 1024;

/** Makes a frame of this many characters. */
function frame(length: number): string {
  return `${'x'.repeat(length - 1)}\n`;
}

describe('a lane of frames', () => {
  it('is empty until a frame comes, and again when it was taken', () => {
    const lane = new FrameLane();
    expect(lane.take()).toEqual([]);
    lane.add('{"type":"a"}\n');
    expect(lane.take()).toEqual(['{"type":"a"}\n']);
    expect(lane.take()).toEqual([]);
  });

  it('joins frames to one batch, in their order', () => {
    const lane = new FrameLane();
    for (const n of [1, 2, 3]) lane.add(`${n}\n`);
    expect(lane.take()).toEqual(['1\n2\n3\n']);
  });

  it('begins a new batch where the next frame would make it longer than 64 KiB', () => {
    const lane = new FrameLane();
    const frames = [frame(60 * KiB), frame(4 * KiB), frame(1), frame(64 * KiB), frame(2)];
    for (const one of frames) lane.add(one);
    const batches = lane.take();
    expect(batches.map((batch) => batch.length)).toEqual([64 * KiB, 1, 64 * KiB, 2]);
    expect(batches.join('')).toBe(frames.join(''));
  });

  it('lets a frame that is longer than a batch travel alone', () => {
    const lane = new FrameLane();
    const frames = [frame(10), frame(100 * KiB), frame(20)];
    for (const one of frames) lane.add(one);
    expect(lane.take()).toEqual(frames);
    lane.add(frame(100 * KiB));
    expect(lane.take()).toEqual([frame(100 * KiB)]);
  });
});
