import { describe, expect, it } from 'vitest';
import { encodeFrame, FrameCursor, splitFrames } from './frame-text.ts';

describe('frames as text', () => {
  it('gives back every header and body byte for byte', () => {
    const body = '{"big":12345678901234567890,"text":"é\\n\u2028"}';
    const message = encodeFrame({ type: 'a' }, body) + encodeFrame({ type: 'b' }) + encodeFrame({}, 'x');
    expect([...splitFrames(message)]).toEqual([
      { header: '{"type":"a","body":true}', body },
      { header: '{"type":"b"}' },
      { header: '{"body":true}', body: 'x' },
    ]);
  });

  it('keeps the body of a broken header from being read as a frame', () => {
    const message = '{"type":"deliver",,"body":true}\n{"type":"admin"}\n{"type":"b"}\n';
    expect([...splitFrames(message)]).toEqual([
      { header: '{"type":"deliver",,"body":true}', body: '{"type":"admin"}' },
      { header: '{"type":"b"}' },
    ]);
  });

  it('keeps every text of a header on its line', () => {
    for (const text of ['line\nend\r', '\u2028', '","admin":true,"x":"', 'lone \ud83d', '\\']) {
      const [{ header, body } = { header: '' }, ...more] = splitFrames(encodeFrame({ text }, '1'));
      expect([JSON.parse(header), body, more]).toEqual([{ text, body: true }, '1', []]);
    }
  });

  it('reports an announced body that is missing as absent', () => {
    expect([...splitFrames('{"body":true}')]).toEqual([{ header: '{"body":true}' }]);
    expect([...splitFrames('{"body":true}\n')]).toEqual([{ header: '{"body":true}' }]);
  });

  it('are found in a message made of any pieces', () => {
    const lines = ['', '{"body":true}', '{"a":1}', '{"body" : true,"a":1}', '"body":true}', 'x', '\r', '{}'];
    for (let i = 0; i < 8 ** 3; i++) {
      const picked = [i & 7, (i >> 3) & 7, i >> 6].map((at) => lines[at]!);
      for (const message of [picked.join('\n'), `${picked.join('\n')}\n`]) {
        expect([...splitFrames(message)], JSON.stringify(message)).toEqual(framesOf(message));
      }
    }
  });

  it('leave no body behind at the cursor for a frame without one', () => {
    const cursor = new FrameCursor('\n{"body":true}\nx\n{"a":1}');
    expect([cursor.next(), cursor.header, cursor.body]).toEqual([true, '{"body":true}', 'x']);
    expect([cursor.next(), cursor.header, cursor.body]).toEqual([true, '{"a":1}', undefined]);
    expect([cursor.next(), cursor.next()]).toEqual([false, false]);
  });
});

/** The rule in its simplest form: line by line. */
function framesOf(message: string): { header: string; body?: string }[] {
  const lines = message.split('\n');
  if (lines.at(-1) === '') lines.pop();
  const frames = [];
  for (let at = 0; at < lines.length; at++) {
    const header = lines[at]!;
    if (header === '') continue;
    const hasBody = /"body"\s*:\s*true/.test(header) && at + 1 < lines.length;
    frames.push(hasBody ? { header, body: lines[++at]! } : { header });
  }
  return frames;
}
