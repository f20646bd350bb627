import { expect, it } from 'vitest';
import { boundedText } from './bounded-text.ts';

async function* pieces(...all: readonly number[][]) {
  for (const piece of all) yield Uint8Array.from(piece);
}

it('joins the pieces of a body, also where one ends within a character', async () => {
  expect(await boundedText(pieces([0x61, 0xc3], [0xa9]), 3)).toEqual({ text: 'aé', isWhole: true });
  expect(await boundedText(null, 3)).toEqual({ text: '', isWhole: true });
});

it('reads no further than the piece that is too much', async () => {
  let isEnded = false;
  async function* endless() {
    try {
      for (;;) yield Uint8Array.of(0x61, 0x61);
    } finally {
      isEnded = true;
    }
  }
  expect(await boundedText(endless(), 3)).toEqual({ text: 'aaaa', isWhole: false });
  expect(isEnded).toBe(true);
});
