import type { ServerResponse } from 'node:http';

/** The limits with which an answer is written. */
export interface WriteOptions {
  /** A client that reads nothing for this many milliseconds is cut off. */
  stallMs: number;
  /** Called with the number of bytes that have begun to wait for the client; negative when they have left. */
  onWaiting?: (bytes: number) => void;
}

/**
 * Writes a response, a stream of events included, no faster than the client reads. Resolves when it has left or the
 * connection is closed; never rejects.
 */
export async function writeResponse(
  response: Response,
  to: ServerResponse,
  options: WriteOptions,
): Promise<void> {
  if (to.destroyed) {
    await response.body?.cancel().catch(() => {});
    return;
  }
  const gone = new Promise<void>((resolve) => to.once('close', resolve));
  to.on('timeout', () => to.destroy());
  const headers = Object.fromEntries(response.headers);
  if (response.body && headers['content-type']?.includes('event-stream')) {
    to.writeHead(response.status, headers);
    to.flushHeaders();
    await writeStream(response.body, to, options);
  } else {
    const body = Buffer.from(await response.arrayBuffer());
    to.writeHead(response.status, { ...headers, 'content-length': body.length });
    options.onWaiting?.(body.length);
    to.setTimeout(options.stallMs);
    to.end(body);
  }
  await gone;
}

async function writeStream(
  body: ReadableStream<Uint8Array>,
  to: ServerResponse,
  { stallMs, onWaiting }: WriteOptions,
): Promise<void> {
  const reader = body.getReader();
  let wake = () => {};
  to.on('drain', () => wake());
  to.once('close', () => {
    wake();
    reader.cancel().catch(() => {});
  });
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) break;
      if (!to.write(value) && !to.destroyed) {
        onWaiting?.(value.length);
        to.setTimeout(stallMs);
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
        // Between two events a stream may be silent for long.
        to.setTimeout(0);
        onWaiting?.(-value.length);
      }
    }
  } catch {
    // The stream broke off: the client can be told only by its end.
  }
  to.end();
}
