import { messageOf, SignalboxError } from '@signalbox/protocol';

/** Returns the error for a URL that the network rules refuse. `hop` is the number of redirects that led to it. */
export function blocked(message: string, host: string, hop: number): SignalboxError {
  return new SignalboxError('network_blocked', message, { details: { host, hop } });
}

/** Returns the error for a host that has an address outside the public internet. */
export function notPublic(host: string, range: string): SignalboxError {
  const message = `${host} is not on the public internet (${range} address); if it is meant, name it in allowHosts`;
  return blocked(message, host, 0);
}

/** Returns the error for a redirect that can't be followed. `what` completes a sentence about the host. */
export function redirectFailed(what: string, url: URL, hop: number, cause?: unknown): SignalboxError {
  const host = url.hostname;
  return new SignalboxError('redirect_failed', `${host} ${what}`, { cause, details: { host, hop } });
}

/** Returns the error for a response body that is larger than allowed. */
export function tooLarge(host: string, maxBytes: number): SignalboxError {
  return new SignalboxError('result_too_large', `the answer of ${host} is larger than ${maxBytes} bytes`, {
    details: { host, maxBytes },
  });
}

/**
 * Translates an error of undici for a request. It returns our own refusal, if undici has wrapped one; `not_sent` for a request that undici
 * refused before anything was sent, for example because of its port; `redirect_failed` for a failure after a redirect; and any other error
 * unchanged.
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
