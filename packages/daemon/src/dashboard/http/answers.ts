import type { ServerResponse } from 'node:http';
import { messageOf, SignalboxError } from '@signalbox/protocol';
import { json, send } from '@signalbox/serving/monitoring';

/** The restrictions on a browser for an answer: show it in no frame, guess no type, tell no other site about its origin. */
const securityHeaders: Readonly<Record<string, string>> = {
  'content-security-policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'permissions-policy': 'camera=(), geolocation=(), microphone=()',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
};

/** An error as the API answers it. */
export interface ApiError {
  code: string;
  message: string;
  hint?: string;
}

/** Begins an answer. The connection ends with it. */
export function beginAnswer(
  response: ServerResponse,
  status: number,
  headers: Readonly<Record<string, string>>,
): void {
  response.writeHead(status, {
    'cache-control': 'no-store',
    ...securityHeaders,
    ...headers,
    connection: 'close',
  });
}

/** Answers with JSON. */
export function sendJson(
  response: ServerResponse,
  status: number,
  value: unknown,
  headers: Readonly<Record<string, string>> = {},
): void {
  send(response, json(status, value, { ...securityHeaders, ...headers }));
}

/** Answers with an error. */
export function sendError(
  response: ServerResponse,
  status: number,
  error: ApiError,
  headers: Readonly<Record<string, string>> = {},
): void {
  sendJson(response, status, { error }, headers);
}

/** The HTTP status of each code that is not an internal failure. */
const statuses: Readonly<Record<string, number>> = {
  unauthorized: 401,
  forbidden: 403,
  permission_denied: 403,
  not_yours: 403,
  bad_frame: 400,
  bad_request: 400,
  invalid_message: 400,
  invalid_arguments: 400,
  message_too_large: 413,
  not_found: 404,
  unknown_hold: 404,
  unknown_message: 404,
  unknown_token: 404,
  unknown_recipient: 404,
  key_reused: 409,
  id_conflict: 409,
  already_answered: 409,
  not_working: 409,
  rate_limited: 429,
  quota_exceeded: 429,
  too_many_connections: 429,
  inbox_full: 429,
  storage_full: 507,
  no_consumer: 503,
  timed_out: 504,
  connection_lost: 503,
  shutting_down: 503,
  unreachable: 503,
};

/** Turns a thrown value into an error of the API with its HTTP status. */
export function apiErrorOf(thrown: unknown): { status: number; error: ApiError } {
  if (!(thrown instanceof SignalboxError))
    return { status: 500, error: { code: 'internal', message: messageOf(thrown) } };
  const { code, message, details } = thrown;
  const hint = typeof details.hint === 'string' ? { hint: details.hint } : {};
  return { status: statuses[code] ?? 500, error: { code, message, ...hint } };
}
