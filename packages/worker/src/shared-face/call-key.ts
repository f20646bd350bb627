/** Returns the id of a call: that of its message at the broker, in each repetition of the call. */
export function callKey(consumer: string, ordinal: number): string {
  return `${consumer}-${ordinal}`;
}
