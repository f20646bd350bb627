import { messageOf, SignalboxError } from '@signalbox/protocol';

/** The error for a URL that the network rules refuse. `hop`: the number of redirects that led to it. */
export function blocked(message: string, host: string, hop: number): SignalboxError {
  return new SignalboxError('network_blocked', message, { details: { host, hop } });
}

/** The error for a host that has an address outside the public internet. */
export function notPublic(host: string, range: string): SignalboxError {
  const message = `${host} is not on the public internet (${range} address); if it is meant, name it in allowHosts`;
  return blocked(message, host, 0);
}

/** The error for a redirect that can't be followed. `what` completes a sentence about the host. */
export function redirectFailed(what: string, url: URL, hop: number, cause?: unknown): SignalboxError {
  const host = url.hostname;
  return new SignalboxError('redirect_failed', `${host} ${what}`, { cause, details: { host, hop } });
}

/** The error for a response body that is larger than allowed. */
export function tooLarge(host: string, maxBytes: number): SignalboxError {
  return new SignalboxError('result_too_large', `the answer of ${host} is larger than ${maxBytes} bytes`, {
    details: { host, maxBytes },
  });
}

/**
 * The error that stands for what undici has thrown for a request: our own refusal, which it has wrapped; `not_sent` for what
 * it refused before it went to the network, such as a port of another protocol; or `redirect_failed`. Else it is as it was.
 */
export function requestError(thrown: unknown, url: URL, hop: number, wasTried: boolean): unknown {
  const refusal =
    thrown instanceof Error && thrown.cause instanceof SignalboxError ? thrown.cause : undefined;
  if (refusal)
    return new SignalboxError(refusal.code, refusal.message, { details: { ...refusal.details, hop } });
  if (!(thrown instanceof TypeError)) return thrown;
  if (hop > 0) return redirectFailed('could not be reached after a redirect', url, hop, thrown);
  if (wasTried) return thrown;
  const { host } = url;
  const message = `${host}: ${messageOf(thrown.cause ?? thrown)}`;
  return new SignalboxError('not_sent', message, { cause: thrown, details: { host, hop } });
}
