import { expect, test } from 'vitest';
import { type KeptText, lineOf, readBytes, readLines } from './kept-text.ts';
import { linesAround, searchText } from './search-text.ts';
import { marksOf } from './text-marks.ts';

/** Makes a text that counts the bytes that are read of it. */
function keptText(text: string): KeptText & { readonly buffer: Buffer; read: KeptText['read']; got: number } {
  const buffer = Buffer.from(text);
  const kept = {
    buffer,
    got: 0,
    bytes: buffer.length,
    ...marksOf(buffer),
    async read(at: number, length: number) {
      const part = buffer.subarray(at, at + length);
      kept.got += part.length;
      return part;
    },
  };
  return kept;
}

const bytes = (text: KeptText, offset: number, most: number) =>
  readBytes(text, { by: 'bytes', offset }, most);
const lines = (text: KeptText, line: number, count: number | undefined, most: number) =>
  readLines(text, { by: 'lines', line, ...(count !== undefined && { lines: count }) }, most);
const search = (text: KeptText, wanted: string, more: object = {}) =>
  searchText(text, {
    by: 'search',
    search: wanted,
    ignoreCase: false,
    context: 0,
    matches: 1000,
    offset: 0,
    ...more,
  });

test('Parts by bytes never split a character, and together they are the whole text.', async () => {
  const whole = 'aä€😀\n'.repeat(50);
  const text = keptText(whole);
  for (const most of [1, 2, 3, 4, 5, 7, 64]) {
    let read = '';
    for (let at = 0; at < text.bytes; ) {
      const part = await bytes(text, at, most);
      expect(part.end).toBeGreaterThan(at);
      expect(part.end - part.offset).toBeLessThanOrEqual(Math.max(most, 4));
      read += part.text;
      at = part.end;
    }
    expect(read).toBe(whole);
  }
});

test('An offset within a character is moved to its begin, and one behind the end reads nothing.', async () => {
  const text = keptText('ab😀c');
  for (const offset of [2, 3, 4, 5]) {
    expect(await bytes(text, offset, 100)).toMatchObject({ text: '😀c', offset: 2, line: 1 });
  }
  expect(await bytes(text, 6, 100)).toMatchObject({ text: 'c', offset: 6, end: 7 });
  expect(await bytes(text, 1000, 100)).toMatchObject({ text: '', offset: 7, end: 7 });
  expect(await bytes(keptText(''), 0, 10)).toMatchObject({ text: '', offset: 0, end: 0, line: 1 });
});

test('Lines are found anywhere in a large text, and little of it is read for that.', async () => {
  const whole = Array.from({ length: 40_000 }, (_, at) => `line ${at + 1} ${'x'.repeat(at % 40)}`);
  const text = keptText(whole.join('\n'));
  expect(text.lines).toBe(40_000);
  for (const line of [1, 2, 1999, 20_000, 33_333, 40_000]) {
    text.got = 0;
    const part = await lines(text, line, 2, 1000);
    expect(part.text.replace(/\n$/, '').split('\n')).toEqual(whole.slice(line - 1, line + 1));
    expect(part).toMatchObject({ line, lastLine: Math.min(40_000, line + 1), endsLine: true });
    expect(await lineOf(text, part.offset)).toBe(line);
    expect(text.got).toBeLessThan(200_000);
  }
  expect(await lines(text, 40_001, 1, 1000)).toMatchObject({ text: '', offset: text.bytes });
});

test('Of lines that are too many or too long, whole ones are read, or the begin of the first one.', async () => {
  expect(await lines(keptText('aaaa\nbbbb\ncccc\n'), 1, undefined, 12)).toMatchObject({
    text: 'aaaa\nbbbb\n',
    lastLine: 2,
    endsLine: true,
  });
  expect(await lines(keptText('a\n€€€€€€\nb'), 2, 5, 8)).toMatchObject({
    text: '€€',
    offset: 2,
    end: 8,
    endsLine: false,
  });
  expect(await lines(keptText('a\nb'), 1, undefined, 3)).toMatchObject({ text: 'a\nb', lastLine: 2 });
  expect(await lines(keptText('a\r\n\nb\n'), 2, 1, 10)).toMatchObject({ text: '\n', line: 2, lastLine: 2 });
});

test('A search finds every place, also across the pieces in which it reads, and continues where it stopped.', async () => {
  const needle = 'nädel';
  const whole = `${'x'.repeat(65_530)}${needle}${'ä'.repeat(40_000)}${needle}\n`.repeat(4);
  const text = keptText(whole);
  const expected = [...whole.matchAll(/nädel/g)].map(({ index }) => Buffer.byteLength(whole.slice(0, index)));
  expect(await search(text, needle)).toEqual({ places: expected, next: undefined });
  const first = await search(text, needle, { matches: 3 });
  expect(first).toEqual({ places: expected.slice(0, 3), next: expected[3] });
  expect((await search(text, needle, { offset: first.next })).places).toEqual(expected.slice(3));
});

test('A search finds each place once, also where a piece begins within a character.', async () => {
  for (let before = 0; before < 9; before++) {
    const text = keptText(`${'x'.repeat(before)}${'😀ä€'.repeat(8000)}`);
    const { places } = await search(text, '😀', { matches: 10_000 });
    expect(places).toEqual(Array.from({ length: 8000 }, (_, at) => before + 9 * at));
  }
  const text = keptText('ä'.repeat(10));
  expect((await search(text, 'ä', { offset: 3 })).places).toEqual([4, 6, 8, 10, 12, 14, 16, 18]);
});

test('A search takes its text letter for letter, and in any case if it is asked to.', async () => {
  const text = keptText('a.*b ÄB äb\nA.*B');
  expect((await search(text, '.*')).places).toEqual([1, 14]);
  expect((await search(text, 'äb')).places).toEqual([9]);
  expect((await search(text, 'äb', { ignoreCase: true })).places).toEqual([5, 9]);
  expect((await search(text, '(')).places).toEqual([]);
});

test('Matches are shown with the lines around them, each once, and long lines are cut around the match.', async () => {
  const text = keptText('1\n2 hit\n3 hit\n4\n5\n6\n7 hit\n8\n');
  const { places } = await search(text, 'hit');
  expect(
    (await linesAround(text, places, 1)).map(({ line, text: shown, place }) => [line, shown, place]),
  ).toEqual([
    [1, '1', undefined],
    [2, '2 hit', 4],
    [3, '3 hit', 10],
    [4, '4', undefined],
    [6, '6', undefined],
    [7, '7 hit', 22],
    [8, '8', undefined],
  ]);
  const long = keptText(`${'€'.repeat(100_000)}hit${'😀'.repeat(100_000)}`);
  const [line] = await linesAround(long, (await search(long, 'hit')).places, 2);
  expect(line).toMatchObject({ line: 1, place: 300_000 });
  expect(line!.text).toMatch(/^…€{200}hit(😀){197}…$/u);
});

test('Of one long line, each match is shown that is not shown beside the one before.', async () => {
  const text = keptText(`hit${'x'.repeat(100)}hit${'x'.repeat(1000)}hit${'x'.repeat(9000)}hit`);
  const shown = await linesAround(text, (await search(text, 'hit')).places, 2);
  expect(shown.map(({ line, place }) => [line, place])).toEqual([
    [1, 0],
    [1, 1106],
    [1, 10_109],
  ]);
});
