import type { IncomingMessage } from 'node:http';
import { messageOf, SignalboxError } from '@signalbox/protocol';
import { boundedText } from '@signalbox/serving';

/** The most bytes that a request may bring. */
const maxBytes = 256 * 1024;

/** Reads the body of a request as JSON. Rejects with `bad_request` or `message_too_large`. */
export async function readJson(request: IncomingMessage): Promise<unknown> {
  const type = request.headers['content-type'] ?? '';
  if (!/^application\/json(;|$)/i.test(type))
    throw new SignalboxError('bad_request', 'the body must be JSON: Content-Type: application/json');
  const { text, isWhole } = await boundedText(request, maxBytes);
  if (!isWhole) throw new SignalboxError('message_too_large', `the body may have at most ${maxBytes} bytes`);
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new SignalboxError('bad_request', `the body is no JSON: ${messageOf(error)}`);
  }
}
