import { expect, it } from 'vitest';
import { ByteRing } from './byte-ring.ts';

it('keeps exactly the end of what was written, however it was cut', () => {
  const written = Array.from({ length: 97 }, (_, i) => String.fromCharCode(97 + (i % 26))).join('');
  for (const size of [1, 2, 3, 7, 10, 11, 40, 97]) {
    const ring = new ByteRing(10);
    for (let at = 0; at < written.length; at += size) {
      ring.push(Buffer.from(written.slice(at, at + size)));
      expect(ring.text()).toBe(written.slice(0, at + size).slice(-10));
    }
  }
});

it('is empty at first', () => {
  expect(new ByteRing().text()).toBe('');
});
