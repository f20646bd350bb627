import { describe, expect, it } from 'vitest';
import { encodeFrame, splitFrames } from './frame-text.ts';

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

  it('reports an announced body that is missing as absent', () => {
    expect([...splitFrames('{"body":true}')]).toEqual([{ header: '{"body":true}' }]);
    expect([...splitFrames('{"body":true}\n')]).toEqual([{ header: '{"body":true}' }]);
  });
});
