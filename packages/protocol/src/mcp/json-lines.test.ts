import { expect, it } from 'vitest';
import { JsonLineReader, jsonLine } from './json-lines.ts';

it('gives the same lines wherever the stream is cut, even inside a character', () => {
  const text = '{"a":"é\u2028日"}\n\n{"b":1}\r\nlast';
  const bytes = Buffer.from(text);
  for (let size = 1; size <= bytes.length; size++) {
    const reader = new JsonLineReader();
    const lines: string[] = [];
    for (let at = 0; at < bytes.length; at += size) lines.push(...reader.push(bytes.subarray(at, at + size)));
    expect(lines).toEqual(['{"a":"é\u2028日"}', '', '{"b":1}']);
    expect(reader.push(Buffer.from('\n'))).toEqual(['last']);
  }
});

it('takes a line up to the cap and refuses one byte more', () => {
  expect(new JsonLineReader(4).push(Buffer.from('1234\n12\n'))).toEqual(['1234', '12']);
  const reader = new JsonLineReader(4);
  reader.push(Buffer.from('123'));
  expect(() => reader.push(Buffer.from('45'))).toThrow(expect.objectContaining({ code: 'line_too_long' }));
});

it('finds a line that is too long anywhere among others, complete or not', () => {
  for (const text of ['12345\n1\n', '1\n12345\n1\n', '1\n2\n12345', '12345']) {
    expect(() => new JsonLineReader(4).push(Buffer.from(text))).toThrow(
      expect.objectContaining({ code: 'line_too_long' }),
    );
  }
  const reader = new JsonLineReader(4);
  expect(reader.push(Buffer.from('1\n12'))).toEqual(['1']);
  expect(reader.push(Buffer.from('34\n5678\n'))).toEqual(['1234', '5678']);
});

it('takes text as well as bytes, and counts its bytes', () => {
  const reader = new JsonLineReader(4);
  expect(reader.push('é')).toEqual([]);
  expect(reader.push(Buffer.from('é\n1'))).toEqual(['éé']);
  expect(() => reader.push('éé')).toThrow(expect.objectContaining({ code: 'line_too_long' }));
});

it('writes JSON on one line, for every character that a reader may take for the end of a line', () => {
  const value = { a: 'x\u2028y\u2029\n' };
  expect(jsonLine(value)).toBe('{"a":"x\\u2028y\\u2029\\n"}');
  expect(JSON.parse(jsonLine(value))).toEqual(value);
});
