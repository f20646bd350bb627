import { expect, test } from 'vitest';
import { LinePrefix } from './line-prefix.ts';
import { keptOutputBytes, OutputTail } from './output-tail.ts';

const bytes = (text: string) => Buffer.from(text);

test('a prefix stands once before each line, however the lines are cut into pieces', () => {
  const text = 'one\ntwo\n\nfour';
  for (const size of [1, 2, 5, 100]) {
    const prefix = new LinePrefix('[a] ');
    let written = '';
    for (let at = 0; at < text.length; at += size) written += prefix.apply(bytes(text.slice(at, at + size)));
    expect(written + prefix.end()).toBe('[a] one\n[a] two\n[a] \n[a] four\n');
  }
});

test('no line end is added after a finished line', () => {
  const prefix = new LinePrefix('> ');
  prefix.apply(bytes('done\n'));
  expect(prefix.end().toString()).toBe('');
});

test('the end of the output is kept, at most 64 KiB of it', () => {
  const tail = new OutputTail();
  for (let at = 0; at < 40; at++) tail.add(bytes(`${at}`.padStart(4096)));
  expect(tail.text()).toHaveLength(keptOutputBytes);
  expect(tail.text().endsWith(' 39')).toBe(true);
  tail.add(bytes(' '.repeat(100_000)));
  expect(tail.text()).toBe(' '.repeat(keptOutputBytes));
});

test('the last line is one that says something, without colours, and not longer than asked', () => {
  const tail = new OutputTail();
  tail.add(bytes('first\n\u001b[31mred \u001b]0;title\u0007line\u001b[0m\r\n  \n'));
  expect(tail.lastLine(20)).toBe('red line');
  expect(tail.lastLine(5)).toBe('red …');
});

test('a token that an agent prints is not repeated, no matter in which pieces it came', () => {
  const tail = new OutputTail();
  const token = `sbx_ci-1~${'aB3_-'.repeat(8)}xyz`;
  for (const letter of `my token is ${token}!`) tail.add(bytes(letter));
  expect(tail.text()).toBe('my token is [token]!');
  expect(tail.lastLine(120)).toBe('my token is [token]!');
});

test('half a token at the edge of what is kept is not repeated either', () => {
  const tail = new OutputTail();
  const secret = 'aB3_-'.repeat(8);
  tail.add(bytes(`sbx_ci-1~${secret}xyz`));
  tail.add(bytes(` ${'.'.repeat(keptOutputBytes - 30)}`));
  expect(tail.text()).not.toContain(secret.slice(-10));
  expect(tail.text()).toContain(' ....');
});

test('nothing of a long token of an identity provider is repeated, if its beginning is kept or not', () => {
  const header = Buffer.from('{"alg":"RS256"}').toString('base64url');
  const jwt = `${header}.${'aB3_-'.repeat(1000)}.${'aB3_-'.repeat(60)}`;
  for (const after of [10, keptOutputBytes - 4000]) {
    const tail = new OutputTail();
    tail.add(bytes(`${jwt} ${'.'.repeat(after)}`));
    expect(tail.text()).not.toContain('aB3');
    expect(tail.text()).toContain(' ....');
  }
});
