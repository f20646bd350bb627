/** Returns the delay for a timer, which takes whole milliseconds and at most 2^31 - 1 of them. */
export function timerMs(ms: number): number {
  return Math.min(Math.max(1, Math.ceil(ms)), 2 ** 31 - 1);
}
