/** The operations that are under way at once. */
export const wave = 64;

/**
 * Does something so often, in waves that begin together, each when the one before has ended. Had each its own successor, how many travel
 * together, and so what they cost, would depend on what else the machine does.
 */
export async function repeat(operation: () => Promise<unknown>, count: number): Promise<void> {
  for (let left = count; left > 0; left -= wave) {
    await Promise.all(Array.from({ length: Math.min(wave, left) }, operation));
  }
}
