/**
 * The kind of failure of a `fetch`, or of reading its response. `not_sent`: no byte of the request has left. `lost`: some bytes may have
 * left.
 */
export interface NetworkFailure {
  kind: 'not_sent' | 'lost';
  /** Completes a sentence about the server, such as "cannot be reached (ECONNREFUSED)". */
  reason: string;
}

/** The errors that occur before there is a connection. */
const beforeConnected = new Set([
  'ECONNREFUSED',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOTFOUND',
  'UND_ERR_CONNECT_TIMEOUT',
]);

/** Classifies an error by the system's code in it or in one of its causes; `undefined` for an error of another kind. */
export function networkFailure(thrown: unknown): NetworkFailure | undefined {
  if (thrown instanceof DOMException) return { kind: 'lost', reason: 'the request was broken off' };
  const code = networkCode(thrown);
  if (code === undefined) return undefined;
  const reason = `cannot be reached (${code})`;
  return { kind: beforeConnected.has(code) ? 'not_sent' : 'lost', reason };
}

function networkCode(thrown: unknown, depth = 0): string | undefined {
  if (!(thrown instanceof Error) || depth > 5) return undefined;
  if (
    'code' in thrown &&
    typeof thrown.code === 'string' &&
    /^(E[A-Z]+|EAI_[A-Z]+|UND_ERR_[A-Z_]+)$/.test(thrown.code)
  ) {
    return thrown.code;
  }
  const inner = thrown instanceof AggregateError ? thrown.errors[0] : thrown.cause;
  return networkCode(inner, depth + 1) ?? (thrown instanceof TypeError ? 'network error' : undefined);
}
