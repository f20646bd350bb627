import type { ServerResponse } from 'node:http';

/**
 * Writes a response, a stream of events included, no faster than the client reads. Resolves when it has left or the
 * connection is closed; never rejects.
 */
export async function writeResponse(response: Response, to: ServerResponse): Promise<void> {
  if (to.destroyed) {
    await response.body?.cancel().catch(() => {});
    return;
  }
  const gone = new Promise<void>((resolve) => to.once('close', resolve));
  const headers = Object.fromEntries(response.headers);
  if (response.body && headers['content-type']?.includes('event-stream')) {
    to.writeHead(response.status, headers);
    to.flushHeaders();
    await writeStream(response.body, to);
  } else {
    const body = Buffer.from(await response.arrayBuffer());
    to.writeHead(response.status, { ...headers, 'content-length': body.length });
    to.end(body);
  }
  await gone;
}

async function writeStream(body: ReadableStream<Uint8Array>, to: ServerResponse): Promise<void> {
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
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
    }
  } catch {
    // The stream broke off: its end is all that the client can be told.
  }
  to.end();
}
