import type { IncomingMessage, ServerResponse } from 'node:http';
import type { ErrorCode } from '@signalbox/protocol';
import { type Answer, beginAnswer, refusal, send } from '@signalbox/serving/monitoring';

/** The reason why a request to a webhook is refused, for its sender, who learns nothing about agents and limits. */
export interface HookRefusal {
  status: number;
  code: ErrorCode | 'not_found' | 'method_not_allowed';
  message: string;
  retryAfterMs?: number;
  headers?: Readonly<Record<string, string>>;
}

/** The time and the bytes for which the rest of a refused request is read. If the connection is closed earlier, the answer is lost. */
const linger = { ms: 2000, bytes: 4 * 1024 * 1024 };

/** The time after which a sender may try again, if no better one is known, in milliseconds. */
const laterMs = 60_000;

/** The refusals for reasons other than the content of the request. */
export const hookRefusals = {
  unknown: { status: 404, code: 'not_found', message: 'there is no such webhook' },
  method: {
    status: 405,
    code: 'method_not_allowed',
    message: 'a webhook takes POST only',
    headers: { allow: 'POST' },
  },
  unproven: {
    status: 401,
    code: 'unauthorized',
    message: 'the request does not prove its sender as this webhook needs it',
    headers: { 'www-authenticate': 'Bearer realm="signalbox"' },
  },
  tooLarge: { status: 413, code: 'message_too_large', message: 'the body is larger than this webhook takes' },
  stopping: {
    status: 503,
    code: 'shutting_down',
    message: 'the broker is stopping; try again',
    retryAfterMs: 1000,
  },
} as const satisfies Record<string, HookRefusal>;

/** The statuses and texts for results of the store. Other codes are failures of the broker. */
const ofCodes: { readonly [C in ErrorCode]?: Omit<HookRefusal, 'code'> } = {
  id_conflict: { status: 409, message: 'another body was delivered under this id of a delivery' },
  message_too_large: hookRefusals.tooLarge,
  rate_limited: { status: 429, message: 'too much in a short time; try again later' },
  quota_exceeded: {
    status: 429,
    message: 'too much that was delivered is not read yet; try again later',
    retryAfterMs: laterMs,
  },
  inbox_full: { status: 503, message: 'the inbox is full; try again later', retryAfterMs: laterMs },
  storage_full: { status: 503, message: 'the disk is full; try again later', retryAfterMs: laterMs },
  unknown_recipient: {
    status: 503,
    message: 'the recipient of this webhook is not known yet; try again later',
    retryAfterMs: laterMs,
  },
};

/** Returns the refusal for a code of the broker. */
export function refusalOf(code: ErrorCode, retryAfterMs?: number): HookRefusal {
  const known = ofCodes[code] ?? { status: 503, message: 'the broker failed; try again', retryAfterMs: 1000 };
  return { ...known, code, ...(retryAfterMs !== undefined && { retryAfterMs }) };
}

/** Makes the answer for a refusal. */
export function refusedAnswer(
  request: IncomingMessage,
  { status, code, message, retryAfterMs, headers }: HookRefusal,
): Answer {
  const later = retryAfterMs === undefined ? {} : { 'retry-after': `${Math.ceil(retryAfterMs / 1000)}` };
  return refusal(request, status, { code, message }, { ...headers, ...later });
}

/** Sends an answer, also to a client that has not sent all of its body: the rest is read for a while, and dropped. */
export function sendAnswer(request: IncomingMessage, response: ServerResponse, answer: Answer): void {
  if (request.complete) {
    send(response, answer);
    return;
  }
  beginAnswer(response, answer);
  response.write(answer.body);
  let left = linger.bytes;
  const timer = setTimeout(() => response.end(), linger.ms);
  const end = (): void => {
    clearTimeout(timer);
    response.end();
  };
  request.on('data', (piece: Buffer) => {
    left -= piece.length;
    if (left < 0) end();
  });
  request.once('end', end);
  request.once('close', end);
}
