import { ProtocolError, SdkError, SdkErrorCode, SdkHttpError } from '@modelcontextprotocol/client';
import { isJsonObject, messageOf, SignalboxError } from '@signalbox/protocol';
import { networkFailure } from '../guarded-fetch/index.ts';
import { uselessAnswer } from '../mended-message.ts';
import { answerTooLarge } from '../too-large-answer.ts';
import { boundedWords, type Failure } from '../tool-calls/index.ts';
import { HttpRefusal } from './http-refusal.ts';
import { isRawError, rawError } from './raw-error.ts';

/**
 * The `data` of the error that stands for an answer which can't arrive any more. It is compared by identity, so no
 * server can send it.
 */
export const streamLost = { reason: 'the response stream ended without an answer' };

/** Returns the meaning of an error of the SDK or of a transport for the request, by its type and code, never by its text. */
export function failureOf(thrown: unknown): Failure {
  if (thrown instanceof ProtocolError) return protocolFailure(thrown);
  if (thrown instanceof HttpRefusal) return thrown.failure;
  if (thrown instanceof SdkHttpError) return httpFailure(thrown.status);
  if (thrown instanceof SdkError) return sdkFailure(thrown);
  if (thrown instanceof SignalboxError) return { kind: kindOf(thrown), reason: thrown.message };
  // The SDK's schemas refused the message; their list of all possible messages helps nobody.
  if (thrown instanceof Error && 'issues' in thrown) return { kind: 'bad_answer', ...uselessAnswer };
  return networkFailure(thrown) ?? { kind: 'bad_answer', reason: messageOf(thrown) };
}

function protocolFailure({ code, message, data }: ProtocolError): Failure {
  if (isRawError(data)) return answeredFailure(data[rawError].code, message, data[rawError].data);
  return answeredFailure(code, message, data);
}

/** Returns the meaning of a JSON-RPC error for the request: it comes from the server, or from a transport in the place of the answer. */
export function answeredFailure(code: number, message: string, data: unknown): Failure {
  if (data === streamLost) return { kind: 'lost', reason: streamLost.reason };
  if (data === uselessAnswer) return { kind: 'bad_answer', ...uselessAnswer };
  if (data === answerTooLarge) return { kind: 'too_large', reason: message };
  return { kind: 'answered', code, reason: boundedWords(message), ...(data !== undefined && { data }) };
}

function httpFailure(status: number): Failure {
  const reason = `HTTP ${status}`;
  return status >= 300 && status < 500 ? { kind: 'refused', status, reason } : { kind: 'lost', reason };
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
      return unaskedResult(kindOfResult(error));
    default:
      // The error of a failed question for the revision has the answer to that question as its cause.
      if (error.cause instanceof HttpRefusal) return error.cause.failure;
      return networkFailure(error) ?? { kind: 'bad_answer', reason: `unusable answer (${error.code})` };
  }
}

/** Makes the failure of a request that the server answered with another kind of result. */
export function unaskedResult(kind: string): Failure {
  const reason = `the server answered with a result of the kind '${kind}', which it was not asked for and which is not relayed`;
  return { kind: 'bad_answer', reason };
}

function kindOfResult({ data }: SdkError): string {
  return isJsonObject(data) && typeof data.resultType === 'string' ? data.resultType.slice(0, 64) : 'unknown';
}

function kindOf({ code }: SignalboxError): 'not_sent' | 'no_access' | 'too_large' | 'bad_answer' {
  if (code === 'result_too_large') return 'too_large';
  if (code === 'not_sent') return 'not_sent';
  return code === 'needs_auth' || code === 'auth_failed' ? 'no_access' : 'bad_answer';
}
