/** Matches the ids of {@link callKey}, and those of further rounds. */
const keyPattern = /^([A-Za-z0-9_-]{22})-\d{1,15}(?:\.\d+)?$/;

/** Returns the id of a call: the id of its message at the broker, the same in each repetition of the call. */
export function callKey(consumer: string, ordinal: number): string {
  return `${consumer}-${ordinal}`;
}

/** The prefix of the ids of requests that the shim repeats although they are answered. */
const repeatedIdStart = 'signalbox-shim:';

/** Returns the id under which a shim repeats an answered request. */
export function repeatedId(ordinal: number): string {
  return `${repeatedIdStart}${ordinal}`;
}

/** Returns true if an id belongs to a request that is repeated although it is answered: its answer is not for the client. */
export function isRepeatedId(id: unknown): boolean {
  return typeof id === 'string' && id.startsWith(repeatedIdStart);
}

/** Returns the name of the shim that made a call, if the id of the call has one. */
export function consumerOfKey(callId: string): string | undefined {
  return keyPattern.exec(callId)?.[1];
}
