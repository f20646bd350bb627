import { isJsonObject, jsonSize, readJson } from '@signalbox/protocol';
import { boundedText } from '@signalbox/serving';
import { redactedData } from '../redaction/index.ts';
import { type MessageBounds, tooLargeMessage } from '../too-large-answer.ts';
import { boundedWords, type Failure, readRetryAfter } from '../tool-calls/index.ts';
import type { UnansweredRequest } from './unanswered-requests.ts';

/** The most bytes of a refusal that are read, unless it is JSON, which may be the answer to the request. */
const longestText = 64 * 1024;
/** The characters that are left out at the end of a longer one, since a secret that is cut there would not be found. */
const leftOut = 16 * 1024;

/** The requests with which a session begins. The SDK has to see the answers to them. */
const handshake = new Set(['server/discover', 'initialize']);

/** An HTTP error or a redirect in answer to a JSON-RPC request. */
export class HttpRefusal extends Error {
  override readonly name = 'HttpRefusal';
  readonly failure: Failure;

  constructor(failure: Failure) {
    super(failure.reason);
    this.failure = failure;
  }
}

/**
 * Returns the refusal that a redirect of a message is, with the address to configure; `undefined` if the transport follows it, which it
 * does only within the origin and with the same method. The rest of an address may hold a key, so that only its path is named.
 */
export function refusedRedirect(url: string | URL, { status, headers }: Response): HttpRefusal | undefined {
  const location = headers.get('location');
  if (status < 301 || status > 308 || location === null) return undefined;
  const from = new URL(url);
  const to = URL.parse(location, from.href);
  if (!to || ((status === 307 || status === 308) && to.origin === from.origin)) return undefined;
  const advice = `it redirects to ${to.origin}${to.pathname}; if that is the server, write this address as its url`;
  return new HttpRefusal(refusal(status, advice, readRetryAfter(headers)));
}

/**
 * Reads the body of an HTTP error. A JSON-RPC error in it is the answer to the request: many servers send both. One that names no request
 * is an answer only if the server failed (5xx), since a 4xx refuses the HTTP request before it is read.
 */
export async function answerOrRefusal(
  response: Response,
  { id, method }: Pick<UnansweredRequest, 'id' | 'method'>,
  bounds: MessageBounds,
): Promise<Response | HttpRefusal> {
  const { status, headers } = response;
  const isJson = /[/+]json\b/i.test(headers.get('content-type') ?? '');
  const { text, isWhole } = await boundedText(untilBroken(response), isJson ? bounds.bytes : longestText);
  if (isJson && !isWhole && status >= 500)
    return new HttpRefusal({ kind: 'too_large', reason: tooLargeMessage('bytes', bounds) });
  const found = isWhole ? jsonRpcError(text, bounds) : undefined;
  const retryAfterSeconds = readRetryAfter(headers);
  // 408 and 429 say that it was not run and may come again.
  const mayComeAgain = status === 408 || status === 429;
  if (!found || mayComeAgain || (found.id !== id && (found.id != null || status < 500))) {
    const isShort = isWhole && text.length <= longestText;
    const shown = isShort ? text : text.slice(0, Math.min(text.length, longestText) - leftOut);
    const words = found?.error.message ?? shown;
    return new HttpRefusal(refusal(status, words, retryAfterSeconds));
  }
  const { code, message, data } = found.error;
  if (retryAfterSeconds !== undefined && !handshake.has(method))
    return new HttpRefusal({ kind: 'answered', code, reason: message, data, retryAfterSeconds });
  // The data is never shown if it is too deep or too long, and must not keep the message from being passed on.
  const shown = redactedData(data, (given) => given);
  return Response.json({
    jsonrpc: '2.0',
    id,
    error: { code, message, ...(shown !== undefined && { data: shown }) },
  });
}

/** Tells whether the refused request was not run, and keeps the words of the server for people. */
function refusal(status: number, words: string, retryAfterSeconds: number | undefined): Failure {
  const reason = `HTTP ${status}${words.trim() === '' ? '' : `: ${words}`}`;
  return status >= 300 && status < 500
    ? { kind: 'refused', status, reason, retryAfterSeconds }
    : { kind: 'lost', reason, retryAfterSeconds };
}

interface JsonRpcError {
  id?: unknown;
  error: { code: number; message: string; data?: unknown };
}

function jsonRpcError(text: string, { nodes }: MessageBounds): JsonRpcError | undefined {
  if (jsonSize(text, { maxDepth: Number.POSITIVE_INFINITY, maxNodes: nodes }).nodes > nodes) return undefined;
  try {
    const value = readJson(text);
    if (!isJsonObject(value) || value.jsonrpc !== '2.0' || !isJsonObject(value.error)) return undefined;
    const { code, message, data } = value.error;
    if (typeof code !== 'number' || typeof message !== 'string') return undefined;
    return { id: value.id, error: { code, message: boundedWords(message), data } };
  } catch {
    return undefined;
  }
}

async function* untilBroken({ body }: Response): AsyncIterable<Uint8Array> {
  try {
    yield* body ?? [];
  } catch {
    // The part that has come says enough.
  }
}
