/**
 * The HTTP status codes by which the API of a model refuses every request for a while: the key is missing or has ended, a limit is reached,
 * or the model has too much to do.
 */
const refusals: ReadonlySet<number> = new Set([401, 429, 503, 529]);

/** Returns true if the API of a model answered with a status that has nothing to do with the request. */
export function refusesAll(status: number | undefined): boolean {
  return status !== undefined && refusals.has(status);
}
