import { Writable } from 'node:stream';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { LineWriter } from './line-writer.ts';

function opened(options: { isSlow?: boolean } = {}) {
  const written: string[] = [];
  const waiting: (() => void)[] = [];
  const stream = new Writable({
    decodeStrings: false,
    highWaterMark: 4,
    write(chunk, _encoding, done) {
      written.push(chunk);
      if (options.isSlow) waiting.push(done);
      else done();
    },
  });
  return { written, stream, lines: new LineWriter(stream), read: () => waiting.shift()?.() };
}

it('writes the lines of one turn at once, when its promise jobs are done', async () => {
  const { written, lines } = opened();
  lines.write('a');
  await Promise.resolve();
  lines.write('b');
  expect(written).toEqual([]);
  await nextTurn();
  lines.write('c');
  await nextTurn();
  expect(written).toEqual(['a\nb\n', 'c\n']);
});

it('writes at once what was asked for, and what is long', () => {
  const { written, lines } = opened();
  lines.write('a');
  lines.flush();
  lines.flush();
  lines.write('x'.repeat(64 * 1024));
  expect(written.map(({ length }) => length)).toEqual([2, 64 * 1024 + 1]);
});

it('says when the reader is behind, and when it no longer is', async () => {
  const { lines, read } = opened({ isSlow: true });
  lines.write('long enough');
  await nextTurn();
  expect(lines.isFull).toBe(true);
  read();
  await nextTurn();
  expect(lines.isFull).toBe(false);
});

it('counts what waits, tells when it has left, and drops lines for a stream that has ended', async () => {
  const { written, lines, read, stream } = opened({ isSlow: true });
  let drains = 0;
  lines.onDrained(() => drains++);
  lines.write('one');
  expect([lines.waitingBytes, lines.isFull]).toEqual([4, false]);
  const whole = lines.written();
  expect([lines.waitingBytes, lines.isFull]).toEqual([4, true]);
  read();
  read();
  await nextTurn();
  read();
  await whole;
  expect([lines.waitingBytes, drains]).toEqual([0, 1]);
  stream.destroy();
  lines.write('two');
  await nextTurn();
  expect(written).toEqual(['one\n', '']);
});
