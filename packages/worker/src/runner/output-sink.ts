import { once } from 'node:events';
import type { Writable } from 'node:stream';

/** Where the output of supervised processes goes. */
export interface OutputSink {
  /** Resolves when more may be written. What nobody reads any more is dropped: the processes work on. */
  write(chunk: Buffer): Promise<void>;
}

/** One stream for any number of processes. */
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
