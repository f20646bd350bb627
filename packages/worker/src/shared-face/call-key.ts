/** Returns the id of a call: that of its message at the broker, in each repetition of the call. */
export function callKey(consumer: string, ordinal: number): string {
  return `${consumer}-${ordinal}`;
}

/** Ids that begin so belong to requests that the shim repeats although they are answered. */
const repeatedIdStart = 'signalbox-shim:';

/** Returns the id under which a shim repeats an answered request. */
export function repeatedId(ordinal: number): string {
  return `${repeatedIdStart}${ordinal}`;
}

/** Tells whether an id belongs to a request that is repeated although it is answered, so that its answer is not for the client. */
export function isRepeatedId(id: unknown): boolean {
  return typeof id === 'string' && id.startsWith(repeatedIdStart);
}
