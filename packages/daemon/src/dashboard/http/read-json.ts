import type { IncomingMessage } from 'node:http';
import { messageOf, SignalboxError } from '@signalbox/protocol';

/** The most bytes that a request may bring. */
const maxBytes = 256 * 1024;

/** Reads the body of a request as JSON. Rejects with `bad_request` or `message_too_large`. */
export async function readJson(request: IncomingMessage): Promise<unknown> {
  const type = request.headers['content-type'] ?? '';
  if (!/^application\/json(;|$)/i.test(type))
    throw new SignalboxError('bad_request', 'the body must be JSON: Content-Type: application/json');
  const pieces: Buffer[] = [];
  let bytes = 0;
  for await (const piece of request as AsyncIterable<Buffer>) {
    bytes += piece.length;
    if (bytes > maxBytes)
      throw new SignalboxError('message_too_large', `the body may have at most ${maxBytes} bytes`);
    pieces.push(piece);
  }
  try {
    return JSON.parse(Buffer.concat(pieces).toString());
  } catch (error) {
    throw new SignalboxError('bad_request', `the body is no JSON: ${messageOf(error)}`);
  }
}
