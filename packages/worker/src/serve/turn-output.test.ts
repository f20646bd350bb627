import { mkdtempDisposable, readdir, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { keptEndBytes, keptHeadBytes, keptOutputs, outputKeeper, TurnStream } from './turn-output.ts';

test('A short output is kept whole.', async () => {
  const stream = new TurnStream();
  await stream.write(Buffer.from('one\ntw'));
  await stream.write(Buffer.from('o\n'));
  expect(stream.text()).toEqual({ text: 'one\ntwo\n', cutBytes: 0 });
  expect(stream.head()).toBe('one\ntwo\n');
});

test('Of 100 MB the beginning and the last whole lines are kept, and how much is missing.', async () => {
  const stream = new TurnStream();
  await stream.write(Buffer.from('first\n'));
  const line = `${'x'.repeat(99)}\n`;
  const chunk = Buffer.from(line.repeat(10_000));
  for (let written = 0; written < 100; written++) await stream.write(chunk);
  await stream.write(Buffer.from('last'));
  const { text, cutBytes } = stream.text();
  expect(stream.head().length).toBe(keptHeadBytes);
  expect(stream.head().startsWith('first\nx')).toBe(true);
  expect(text.endsWith('x\nlast')).toBe(true);
  expect(text.split('\n')[0]).toBe('x'.repeat(99));
  expect(text.length).toBeLessThanOrEqual(keptEndBytes);
  expect(cutBytes + text.length).toBe(6 + 100 * chunk.length + 4);
});

test('One endless line is cut between two characters.', async () => {
  const stream = new TurnStream();
  await stream.write(Buffer.from('é'.repeat(keptEndBytes)));
  await stream.write(Buffer.from('!'));
  const { text, cutBytes } = stream.text();
  expect(text.startsWith('é')).toBe(true);
  expect(cutBytes + Buffer.byteLength(text)).toBe(2 * keptEndBytes + 1);
});

test('Of the outputs in a folder the newest hundred are kept, and other files stay.', async () => {
  await using folder = await mkdtempDisposable(join(tmpdir(), 'signalbox-outputs-'));
  const old = Array.from({ length: keptOutputs + 5 }, (_, at) => join(folder.path, `a-${at}.output`));
  for (const [at, path] of old.entries()) {
    await writeFile(path, '');
    await utimes(path, at, at);
  }
  await writeFile(join(folder.path, 'a.json'), '{}');
  const keep = outputKeeper(join(folder.path, 'new.output'));
  await keep('first');
  await keep('second');
  const left = await readdir(folder.path);
  expect(left).toHaveLength(keptOutputs + 1);
  expect(left).toEqual(expect.arrayContaining(['a.json', 'new.output', 'a-6.output', 'a-104.output']));
  expect(left).not.toContain('a-5.output');
});
