import { once } from 'node:events';
import type { Writable } from 'node:stream';

/** A destination for the output of supervised processes. */
export interface OutputSink {
  /** Resolves when more may be written. Output to a closed stream is dropped, so that the processes go on. */
  write(chunk: Buffer): Promise<void>;
}

/** Makes a sink of one stream, for any number of processes. */
export function outputSink(stream: Writable): OutputSink {
  let room: Promise<void> | undefined;
  return {
    async write(chunk) {
      if (chunk.length === 0 || !stream.writable) return;
      if (stream.write(chunk)) return;
      room ??= roomIn(stream).finally(() => {
        room = undefined;
      });
      await room;
    },
  };
}

async function roomIn(stream: Writable): Promise<void> {
  const over = new AbortController();
  const { signal } = over;
  await Promise.race([once(stream, 'drain', { signal }), once(stream, 'close', { signal })]).catch(() => {});
  over.abort();
}
