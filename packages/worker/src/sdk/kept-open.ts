import { keepAliveMs } from './event-stream.ts';

/** The silence after which a request gets a stream, in milliseconds. Common clients give up a request after 30 s to 300 s of silence. */
export const defaultSilenceMs = 25_000;

/**
 * Returns the answer to a request, or, if it takes longer than `silenceMs`, a stream of events that begins with a comment and repeats
 * it every 15 s until the answer comes, which ends the stream. `answering` must not reject.
 */
export async function keptOpen(answering: Promise<Response>, silenceMs: number): Promise<Response> {
  const silence = Promise.withResolvers<undefined>();
  const timer = setTimeout(() => silence.resolve(undefined), silenceMs);
  timer.unref();
  try {
    return (await Promise.race([answering, silence.promise])) ?? streamOf(answering);
  } finally {
    clearTimeout(timer);
  }
}

function streamOf(answering: Promise<Response>): Response {
  const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>();
  void writeStream(answering, writable);
  return new Response(readable, {
    headers: {
      'content-type': 'text/event-stream',
      'cache-control': 'no-cache, no-transform',
      'x-accel-buffering': 'no',
    },
  });
}

/** Writes the comments that keep the stream open, and then the answer. Never rejects: a client that has hung up wants nothing more. */
async function writeStream(answering: Promise<Response>, stream: WritableStream<Uint8Array>): Promise<void> {
  const encoder = new TextEncoder();
  const writer = stream.getWriter();
  const keepAlive = (): void => {
    // If the last comment is not read yet, another one is useless.
    if ((writer.desiredSize ?? 0) > 0) writer.write(encoder.encode(': keepalive\n\n')).catch(() => {});
  };
  keepAlive();
  const timer = setInterval(keepAlive, keepAliveMs);
  timer.unref();
  const answer = await answering;
  clearInterval(timer);
  try {
    if (answer.headers.get('content-type')?.startsWith('text/event-stream') && answer.body) {
      writer.releaseLock();
      await answer.body.pipeTo(stream);
      return;
    }
    const text = await answer.text();
    if (text !== '') await writer.write(encoder.encode(`event: message\ndata: ${text}\n\n`));
    await writer.close();
  } catch {
    await answer.body?.cancel().catch(() => {});
  }
}
