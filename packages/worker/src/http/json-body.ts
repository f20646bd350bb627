import type { IncomingMessage } from 'node:http';
import { messageOf, parseJson } from '@signalbox/protocol';
import type { HttpRefusal } from '../sdk/http-refusal.ts';
import { bodyTooLarge } from './request-check.ts';

/** Reads a request's body as JSON. Never rejects; what cannot be read is a refusal. */
export async function readJsonBody(
  request: IncomingMessage,
  maxBytes: number,
): Promise<{ json: unknown } | HttpRefusal> {
  const text = await readText(request, maxBytes);
  if (typeof text !== 'string') return text;
  try {
    return { json: parseJson(text) };
  } catch (thrown) {
    return { status: 400, code: -32700, message: `the body cannot be read: ${messageOf(thrown)}` };
  }
}

/**
 * Reads a request's body as text. The rest of a body that is too long is read and thrown away, for as long as the server's time
 * limit allows. (The SDK's adapter leaves it unread, which closes the connection before the refusal is out.)
 */
function readText(request: IncomingMessage, maxBytes: number): Promise<string | HttpRefusal> {
  return new Promise((resolve) => {
    const chunks: Buffer[] = [];
    let bytes = 0;
    request.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes <= maxBytes) {
        chunks.push(chunk);
        return;
      }
      chunks.length = 0;
      resolve(bodyTooLarge(maxBytes));
    });
    request.on('end', () => resolve(Buffer.concat(chunks).toString('utf8')));
    const broken = () => resolve({ status: 400, message: 'the body did not arrive whole' });
    request.on('error', broken);
    request.on('close', broken);
  });
}
