import type { IncomingMessage } from 'node:http';
import { bodyLimits, jsonRpcHead, jsonSize, messageOf, parseJson } from '@signalbox/protocol';
import type { HttpRefusal } from '../sdk/http-refusal.ts';
import { bodyTooLarge } from './request-check.ts';
import type { RequestPlace } from './request-room.ts';

/** A body that was read, or the reason why it was not, with the id of the request if the body shows it. */
export type ReadJson =
  | { json: unknown; refusal?: undefined }
  | { refusal: HttpRefusal; id?: string | number | undefined };

/**
 * Reads a request's body as JSON. The place takes memory for the announced bytes before they are read, and for the values and names before
 * they are parsed. Never rejects; a body that cannot be read is a refusal.
 */
export async function readJsonBody(
  request: IncomingMessage,
  maxBytes: number,
  place: RequestPlace,
): Promise<ReadJson> {
  const declared = Number(request.headers['content-length'] ?? 0);
  const full = place.take({ bytes: declared });
  if (full) return { refusal: full };
  const text = await readText(request, (bytes) => {
    if (bytes > maxBytes) return bodyTooLarge(maxBytes);
    return bytes > declared ? place.takeUpTo('bytes', bytes) : undefined;
  });
  if (typeof text !== 'string') return { refusal: text };
  const { nodes } = jsonSize(text, bodyLimits);
  // With more nodes than any reader accepts, it is refused below, and takes no memory.
  const refusal = nodes > bodyLimits.maxNodes ? undefined : place.take({ nodes });
  if (refusal) return { refusal, id: jsonRpcHead(text).id };
  try {
    return { json: parseJson(text) };
  } catch (thrown) {
    return {
      refusal: { status: 400, code: -32700, message: `the body cannot be read: ${messageOf(thrown)}` },
    };
  }
}

/**
 * Reads a request's body as text, unless `refuse` returns a reason against the number of bytes so far. The rest of a refused body is read
 * and thrown away, within the server's time limit. (The SDK's adapter leaves it unread, which closes the connection before the refusal is
 * out.)
 */
function readText(
  request: IncomingMessage,
  refuse: (bytes: number) => HttpRefusal | undefined,
): Promise<string | HttpRefusal> {
  return new Promise((resolve) => {
    let chunks: Buffer[] | undefined = [];
    let bytes = 0;
    const end = (refusal: HttpRefusal) => {
      chunks = undefined;
      resolve(refusal);
    };
    request.on('data', (chunk: Buffer) => {
      if (!chunks) return;
      bytes += chunk.length;
      chunks.push(chunk);
      const refusal = refuse(bytes);
      if (refusal) end(refusal);
    });
    request.on('end', () => {
      if (chunks) resolve(Buffer.concat(chunks).toString('utf8'));
      chunks = undefined;
    });
    const broken = () => end({ status: 400, message: 'the body did not arrive whole' });
    request.on('error', broken);
    request.on('close', broken);
  });
}
