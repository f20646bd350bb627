import { isJsonObject } from '@signalbox/protocol';
import { type Failure, readRetryAfter } from '../tool-calls/index.ts';

/** The most bytes of a refusal that are read. */
const longestText = 64 * 1024;
/** The characters that are left out at the end of a longer one, since a secret that is cut there would not be found. */
const leftOut = 16 * 1024;

/** An HTTP error in answer to a JSON-RPC request: its status, and what its body says. */
export class HttpRefusal extends Error {
  override readonly name = 'HttpRefusal';
  readonly failure: Failure;

  constructor(status: number, text: string, headers: Headers) {
    const reason = `HTTP ${status}${text.trim() === '' ? '' : `: ${text}`}`;
    super(reason);
    const retryAfterSeconds = readRetryAfter(headers);
    this.failure =
      status >= 400 && status < 500
        ? { kind: 'refused', status, reason, retryAfterSeconds }
        : { kind: 'lost', reason, retryAfterSeconds };
  }
}

/**
 * Reads the body of an HTTP error. A JSON-RPC error in it is the answer to the request with this id: many servers send both. One that
 * names no request is an answer only if the server failed (5xx), since a 4xx refuses the HTTP request before it is read.
 */
export async function answerOrRefusal(
  response: Response,
  id: string | number,
): Promise<Response | HttpRefusal> {
  const { status, headers } = response;
  const text = await beginningOf(response);
  const answer = jsonRpcError(text);
  // 408 and 429 say that it was not run and may come again.
  const mayComeAgain = status === 408 || status === 429;
  if (answer && !mayComeAgain && (answer.id === id || (answer.id == null && status >= 500)))
    return Response.json({ ...answer, id });
  return new HttpRefusal(status, answer ? String(answer.error.message) : text, headers);
}

function jsonRpcError(text: string): { id?: unknown; error: Record<string, unknown> } | undefined {
  try {
    const value: unknown = JSON.parse(text);
    if (!isJsonObject(value) || value.jsonrpc !== '2.0' || !isJsonObject(value.error)) return undefined;
    const { code, message } = value.error;
    if (typeof code !== 'number' || typeof message !== 'string') return undefined;
    return value as { id?: unknown; error: Record<string, unknown> };
  } catch {
    return undefined;
  }
}

async function beginningOf({ body }: Response): Promise<string> {
  if (!body) return '';
  const decoder = new TextDecoder();
  let text = '';
  let bytes = 0;
  try {
    for await (const piece of body) {
      text += decoder.decode(piece, { stream: true });
      bytes += piece.length;
      if (bytes > longestText) return text.slice(0, -leftOut);
    }
  } catch {
    // The part that has come says enough.
  }
  return text;
}
