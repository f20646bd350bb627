import { ProtocolError, SdkError, SdkErrorCode, SdkHttpError } from '@modelcontextprotocol/client';
import { networkFailure } from '@signalbox/guarded-fetch';
import { messageOf, SignalboxError } from '@signalbox/protocol';
import { redactedData } from '@signalbox/redaction';
import { streamLost } from '../sdk/http-transport.ts';

/**
 * What an error of the SDK or a transport means for the request.
 * `not_sent`: the server never saw it. `refused`: the server turned it away unrun. `no_access`: we have no leave to use the
 * server, so it didn't run either. `lost`: sent, and the answer can't come any more. `timed_out`: our timeout or the caller's abort, which the SDK doesn't tell apart. `answered`: a JSON-RPC
 * error. `bad_answer`: sent, and answered with something we can't use.
 */
export type Failure =
  | { kind: 'not_sent' | 'no_access' | 'lost' | 'timed_out' | 'bad_answer'; reason: string }
  | { kind: 'refused'; reason: string; status: number }
  | { kind: 'answered'; reason: string; code: number; data?: unknown };

/** Decides by type and code, never by text. `reason` is for people; the server's own words may be in it. */
export function failureOf(thrown: unknown): Failure {
  if (thrown instanceof ProtocolError) {
    if (thrown.data === streamLost) return { kind: 'lost', reason: streamLost.reason };
    const { code, message, data } = thrown;
    return { kind: 'answered', code, reason: message.slice(0, 1_000), ...(data !== undefined && { data }) };
  }
  if (thrown instanceof SdkHttpError) return httpFailure(thrown.status);
  if (thrown instanceof SdkError) return sdkFailure(thrown);
  if (thrown instanceof SignalboxError) {
    return { kind: kindOf(thrown), reason: thrown.message };
  }
  return networkFailure(thrown) ?? { kind: 'bad_answer', reason: messageOf(thrown) };
}

/** The failure with the server's secrets taken out of what it says. */
export function redactedFailure(failure: Failure, redact: (text: string) => string): Failure {
  const reason = redact(failure.reason);
  if (failure.kind !== 'answered') return { ...failure, reason };
  const { data, ...rest } = failure;
  const kept = data === undefined ? undefined : redactedData(data, redact);
  return { ...rest, reason, ...(kept !== undefined && { data: kept }) };
}

function kindOf({ code }: SignalboxError): 'not_sent' | 'no_access' | 'bad_answer' {
  if (code === 'not_sent') return 'not_sent';
  return code === 'needs_auth' || code === 'auth_failed' ? 'no_access' : 'bad_answer';
}

function httpFailure(status: number): Failure {
  const reason = `HTTP ${status}`;
  return status >= 400 && status < 500 ? { kind: 'refused', status, reason } : { kind: 'lost', reason };
}

function sdkFailure(error: SdkError): Failure {
  switch (error.code) {
    case SdkErrorCode.RequestTimeout:
      return { kind: 'timed_out', reason: 'no answer in time' };
    case SdkErrorCode.NotConnected:
      return { kind: 'not_sent', reason: 'not connected' };
    case SdkErrorCode.ConnectionClosed:
      return { kind: 'lost', reason: 'the connection closed' };
    case SdkErrorCode.UnsupportedResultType:
      return {
        kind: 'bad_answer',
        reason: 'the server answered with a kind of result that is not relayed',
      };
    default:
      return networkFailure(error) ?? { kind: 'bad_answer', reason: `unusable answer (${error.code})` };
  }
}
