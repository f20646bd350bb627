import type { ToolCallError } from '@signalbox/protocol';
import { redactedData } from '../../redaction/index.ts';
import { serversWords } from './servers-words.ts';

/**
 * The reason why a request to a server has no result.
 * - `not_sent`: the server never saw it.
 * - `refused`: the server rejected it and did not run it.
 * - `no_access`: we may not use the server, so it did not run it either.
 * - `lost`: it was sent, and its answer can't arrive any more.
 * - `timed_out`: its time was over, or its caller aborted it.
 * - `answered`: the server answered with a JSON-RPC error.
 * - `too_large`: the server's answer is longer than the limit, and was not read to its end.
 * - `bad_answer`: the server's answer can't be used.
 * - `told`: the orchestrator that hosts the server has ended the call, with the error for its caller.
 *
 * `reason` is for people; it may hold the server's own words, also long ones, with secrets: {@link redactedFailure} makes it fit.
 */
export type Failure =
  | { kind: 'not_sent' | 'no_access' | 'too_large' | 'bad_answer'; reason: string }
  | { kind: 'lost'; reason: string; retryAfterSeconds?: number | undefined }
  | {
      kind: 'timed_out';
      reason: string;
      /** True if the server had enough time to answer and showed no sign of life. */
      isSilent?: boolean;
    }
  | { kind: 'refused'; reason: string; status: number; retryAfterSeconds?: number | undefined }
  | { kind: 'told'; reason: string; error: ToolCallError }
  | {
      kind: 'answered';
      reason: string;
      code: number;
      data?: unknown;
      retryAfterSeconds?: number | undefined;
    };

/**
 * Returns true if a server may have answered that it does not know the session. By the specification that is 404; a 400 means it only if it
 * speaks of the session, since a call that has run may end with one, too.
 */
export function isSessionUnknown(failure: Failure): boolean {
  if (failure.kind !== 'refused') return false;
  return failure.status === 404 || (failure.status === 400 && /session|initiali[sz]/i.test(failure.reason));
}

/** Returns the failure without the server's secrets, and with a reason that is not too long. */
export function redactedFailure(failure: Failure, redact: (text: string) => string): Failure {
  const reason = serversWords(redact(failure.reason));
  if (failure.kind === 'told') return { ...failure, reason, error: redactedError(failure.error, redact) };
  if (failure.kind !== 'answered') return { ...failure, reason };
  const { data, ...rest } = failure;
  const kept = data === undefined ? undefined : redactedData(data, redact);
  return { ...rest, reason, ...(kept !== undefined && { data: kept }) };
}

/** The most causes of an error of another machine that are passed on. */
const mostCauses = 8;

/** Returns the error that another machine tells in words that are as long as those of a server may be. */
function redactedError(
  { message, hint, cause_chain: causes, rpc_error: answered, ...facts }: ToolCallError,
  redact: (text: string) => string,
): ToolCallError {
  const words = (text: string) => serversWords(redact(text));
  const data = answered?.data === undefined ? undefined : redactedData(answered.data, redact);
  return {
    ...facts,
    message: words(message),
    ...(hint !== undefined && { hint: words(hint) }),
    ...(causes && { cause_chain: causes.slice(0, mostCauses).map(words) }),
    ...(answered && {
      rpc_error: {
        code: answered.code,
        message: words(answered.message),
        ...(data !== undefined && { data }),
      },
    }),
  };
}
