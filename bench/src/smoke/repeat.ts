const wave = 64;

/**
 * Does something so often, in waves of 64 that begin together, each when the one before has ended; resolves with the
 * milliseconds that it took. Had each its own successor, how many travel together, and so what they cost, would depend on
 * what else the machine does.
 */
export async function repeat(operation: () => Promise<unknown>, count: number): Promise<number> {
  const began = performance.now();
  for (let left = count; left > 0; left -= wave) {
    await Promise.all(Array.from({ length: Math.min(wave, left) }, operation));
  }
  return performance.now() - began;
}
