/** Returns the FNV-1a hash of an id, 32 bits. */
export function hashOfId(id: string): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < id.length; i++) hash = Math.imul(hash ^ id.charCodeAt(i), 0x01000193);
  return hash >>> 0;
}

const words = 1 << 14;
/** The bits of a 32-bit hash that are not needed to number a bit of the words. */
const unusedBits = 32 - Math.log2(words * 32);
/** Odd multipliers, which turn one hash into three nearly independent places. */
const multipliers = [1, 0x9e3779b1, 0x85ebca6b];

/** A Bloom filter over hashes of ids. It takes 64 KiB. With 32,000 ids in it, about 5 of 1,000 other ids are mistaken for one of them. */
export class BloomFilter {
  readonly #words = new Uint32Array(words);

  add(hash: number): void {
    for (const multiplier of multipliers) {
      const place = placeOf(hash, multiplier);
      this.#words[place >>> 5]! |= 1 << (place & 31);
    }
  }

  mayHold(hash: number): boolean {
    return multipliers.every((multiplier) => {
      const place = placeOf(hash, multiplier);
      return (this.#words[place >>> 5]! & (1 << (place & 31))) !== 0;
    });
  }
}

function placeOf(hash: number, multiplier: number): number {
  return Math.imul(hash, multiplier) >>> unusedBits;
}
