import { messageOf, SignalboxError } from '@signalbox/protocol';
import { errnoOf } from '@signalbox/protocol/internal';
import { AuthorizationResponseError, ResponseBodyError, WWWAuthenticateChallengeError } from 'openid-client';
import { networkFailure } from '../../guarded-fetch/index.ts';

/** The advice for an operator, by OAuth error code. */
const advice: Readonly<Record<string, string>> = {
  invalid_client: 'check auth.clientId and auth.clientSecret',
  unauthorized_client: "the client may not use this grant: check the client's registration",
  invalid_scope: 'check auth.scope',
  invalid_target: 'check auth.resource',
  unsupported_grant_type: 'check auth.type',
};

/** The OAuth error codes of temporary failures. */
const passingErrors = new Set(['temporarily_unavailable', 'server_error', 'slow_down']);

/** Returns the OAuth error code with which an authorization server refused; `undefined` for any other error. */
export function oauthErrorOf(thrown: unknown): string | undefined {
  if (thrown instanceof ResponseBodyError || thrown instanceof AuthorizationResponseError)
    return thrown.error;
  if (thrown instanceof WWWAuthenticateChallengeError && thrown.status === 401) return 'invalid_client';
  return undefined;
}

/**
 * Returns an authorization server's failure as `SignalboxError` `auth_failed`. A `needs_auth` or `auth_failed` that a library has wrapped
 * is returned unchanged.
 */
export function oauthFailure(thrown: unknown, redact: (text: string) => string): SignalboxError {
  const ours = signalboxErrorIn(thrown);
  if (ours?.code === 'auth_failed' || ours?.code === 'needs_auth') return ours;
  if (ours) return failed(redact(`the authorization server cannot be used: ${ours.message}`), false);
  const code = oauthErrorOf(thrown);
  if (code !== undefined) {
    const description = descriptionOf(thrown, redact);
    const hint = advice[code] ? `: ${advice[code]}` : '';
    const reason = `the authorization server refused (${code}${description})${hint}`;
    return failed(redact(reason), passingErrors.has(code));
  }
  if (
    errnoOf(thrown) === 'OAUTH_TIMEOUT' ||
    (thrown instanceof DOMException && thrown.name === 'TimeoutError')
  ) {
    return failed('the authorization server did not answer in time', true);
  }
  const unreachable = networkFailure(thrown);
  if (unreachable) return failed(`the authorization server ${unreachable.reason}`, true);
  const reason = redact(messageOf(thrown)).slice(0, 200);
  return failed(`the authorization server's answer is unusable: ${reason}${statusOf(thrown)}`, false);
}

/** Returns our own error from an error in which a library has wrapped it. */
export function signalboxErrorIn(thrown: unknown, depth = 0): SignalboxError | undefined {
  if (thrown instanceof SignalboxError) return thrown;
  return thrown instanceof Error && depth < 5 ? signalboxErrorIn(thrown.cause, depth + 1) : undefined;
}

function failed(message: string, retryable: boolean): SignalboxError {
  return new SignalboxError('auth_failed', message, { retryable });
}

/** Returns the description of an error without secrets. It is redacted before it is cut, because half a secret would not be recognised. */
function descriptionOf(thrown: unknown, redact: (text: string) => string): string {
  const text = (thrown as { error_description?: unknown }).error_description;
  return typeof text === 'string' ? `, ${redact(text).slice(0, 200)}` : '';
}

function statusOf(thrown: unknown): string {
  const { cause } = thrown as Error;
  return cause instanceof Response ? ` (HTTP ${cause.status})` : '';
}
