import type { CallKey } from '../journal.ts';

/** 512 KiB; half full, and wrong about every other key that is not there, only after some three million calls. */
const bitCount = 2 ** 22;

/**
 * Tells most keys that are not in the journal from those that may be, without a look at the disk: nearly all requests
 * come for the first time. It never denies a key that was added, and forgets none.
 */
export class KeyFilter {
  readonly #bits = new Int32Array(bitCount / 32);

  add(key: CallKey): void {
    const bit = bitOf(key);
    this.#bits[bit >>> 5]! |= 1 << (bit & 31);
  }

  mayHold(key: CallKey): boolean {
    const bit = bitOf(key);
    return (this.#bits[bit >>> 5]! & (1 << (bit & 31))) !== 0;
  }
}

function bitOf({ agent, requestId }: CallKey): number {
  const hash = hashed(requestId, hashed(agent, 0x811c9dc5));
  // FNV mixes its high bits best.
  return (hash ^ (hash >>> 15)) & (bitCount - 1);
}

/** FNV-1a over UTF-16 units. */
function hashed(text: string, seed: number): number {
  let hash = seed;
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
  return hash;
}
