import type { TurnOutput } from './turn-program.ts';

/** Returns a standard output that can only be read whole. Throws if it was too long to be kept. */
export function wholeOutput({ stdout, cutBytes }: TurnOutput): string {
  if (cutBytes > 0) throw new Error(`it is too long: its first ${cutBytes} bytes are missing`);
  return stdout;
}
