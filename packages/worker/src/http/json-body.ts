import type { IncomingMessage } from 'node:http';
import {
  bodyLimits,
  isJsonObject,
  jsonRpcHead,
  jsonSize,
  messageOf,
  parseJson,
  repeatedName,
  repeatedNameText,
} from '@signalbox/protocol';
import type { Budget } from '@signalbox/serving';
import type { HttpRefusal } from '../sdk/http-refusal.ts';
import type { FaceSlot } from './face-room.ts';
import { bodyTooLarge } from './request-check.ts';

/** A body that was read, or the reason why it was not, with the id of the request if the body shows it. */
export type ReadJson =
  | { json: unknown; refusal?: undefined }
  | { refusal: HttpRefusal; id?: string | number | undefined };

/**
 * Reads a request's body as JSON. The slot takes memory for the announced bytes before they are read, and for the values and names before
 * they are parsed. Never rejects; a body that cannot be read is a refusal.
 */
export function readJsonBody(
  request: IncomingMessage,
  maxBytes: number,
  slot: FaceSlot,
): ReadJson | Promise<ReadJson> {
  const declared = Number(request.headers['content-length'] ?? 0);
  const full = slot.take({ bytes: declared });
  if (full) return { refusal: full };
  return new Promise((resolve) => {
    const refuse = (bytes: number) => {
      if (bytes > maxBytes) return bodyTooLarge(maxBytes);
      return bytes > declared ? slot.takeUpTo('bytes', bytes) : undefined;
    };
    readText(request, refuse, (text) =>
      resolve(typeof text === 'string' ? jsonOf(text, maxBytes, slot) : { refusal: text }),
    );
  });
}

function jsonOf(text: string, maxBytes: number, slot: FaceSlot): ReadJson {
  const limits = { ...bodyLimits, maxLength: Math.max(bodyLimits.maxLength, maxBytes) };
  const { nodes } = jsonSize(text, limits);
  // With more nodes than any reader accepts, it is refused below, and takes no memory.
  const refusal = nodes > bodyLimits.maxNodes ? undefined : slot.take({ nodes });
  if (refusal) return { refusal, id: jsonRpcHead(text).id };
  try {
    const json = parseJson(text, limits);
    const isCall = isJsonObject(json) && json.method === 'tools/call';
    // Most clients write JSON as `JSON.stringify` does.
    const twice = isCall && JSON.stringify(json) !== text ? repeatedName(text) : undefined;
    if (twice !== undefined) {
      const message = `the call ${repeatedNameText(twice)}`;
      return { refusal: { status: 400, code: -32600, message }, id: jsonRpcHead(text).id };
    }
    if (!Array.isArray(json)) return { json };
    const message = 'send one message at a time: batches are not served';
    return { refusal: { status: 400, code: -32600, message } };
  } catch (thrown) {
    return {
      refusal: { status: 400, code: -32700, message: `the body cannot be read: ${messageOf(thrown)}` },
    };
  }
}

/**
 * Reads a request's body as text, unless `refuse` returns a reason against the number of bytes so far. The rest of a refused body is read
 * and dropped, within the server's time limit. (The SDK's adapter leaves it unread, which closes the connection before the refusal has
 * left.)
 */
function readText(
  request: IncomingMessage,
  refuse: (bytes: number) => HttpRefusal | undefined,
  onEnd: (text: string | HttpRefusal) => void,
): void {
  let chunks: Buffer[] | undefined = [];
  let bytes = 0;
  const end = (text: string | HttpRefusal) => {
    if (!chunks) return;
    chunks = undefined;
    onEnd(text);
  };
  request.on('data', (chunk: Buffer) => {
    if (!chunks) return;
    bytes += chunk.length;
    chunks.push(chunk);
    const refusal = refuse(bytes);
    if (refusal) end(refusal);
  });
  request.on('end', () => {
    const [first] = chunks ?? [];
    if (chunks) end((chunks.length === 1 ? first! : Buffer.concat(chunks)).toString('utf8'));
  });
  const broken = () => end({ status: 400, message: 'the body did not arrive whole' });
  request.on('error', broken);
  request.on('close', broken);
}

/** Makes the reader of a request's body wait when the budget of bytes is used up. `now` is in monotonic milliseconds. */
export function paceBody(request: IncomingMessage, budget: Budget, now: () => number): void {
  request.on('data', (chunk: Buffer) => {
    budget.spend(chunk.length);
    const waitMs = budget.isOverdrawn ? budget.waitMs(now()) : 0;
    if (waitMs === 0) return;
    request.pause();
    setTimeout(() => request.resume(), waitMs);
  });
}

/** Resolves when a body that is being read has ended, or its connection is closed. */
export async function bodyEnd(request: IncomingMessage): Promise<void> {
  if (request.readableEnded || request.closed) return;
  await new Promise<void>((resolve) => {
    request.once('end', resolve);
    request.once('close', resolve);
  });
}
