import { isJsonObject } from '@signalbox/protocol';
import { type Failure, readRetryAfter } from '../tool-calls/index.ts';

/** The most bytes of a refusal that are read. */
const longestText = 8 * 1024;

/** An HTTP error in answer to a JSON-RPC request: its status, and what its body says. */
export class HttpRefusal extends Error {
  override readonly name = 'HttpRefusal';
  readonly failure: Failure;

  constructor(status: number, text: string, headers: Headers) {
    const said = plainText(text);
    const reason = `HTTP ${status}${said === '' ? '' : `: ${shortened(said)}`}`;
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
  if (answer && (answer.id === id || (answer.id == null && status >= 500)))
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
      if (bytes > longestText) break;
    }
  } catch {
    // What has come says enough.
  }
  return text;
}

/** Takes the tags out of an HTML page, and puts all on one line. */
function plainText(text: string): string {
  const isPage = /^\s*<(!doctype|html)/i.test(text);
  return (isPage ? text.replaceAll(/<[^<>]*>/g, ' ') : text).replaceAll(/\s+/g, ' ').trim();
}

const longestReason = 1_000;

/** Leaves out the middle of a long text: command-line tools begin with what failed and end with the cause. */
export function shortened(text: string): string {
  if (text.length <= longestReason) return text;
  const half = longestReason / 2;
  const left = text.length - longestReason;
  return `${text.slice(0, half)} […${left} characters…] ${text.slice(-half)}`;
}
