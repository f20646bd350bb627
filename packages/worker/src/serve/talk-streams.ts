import type { Writable } from 'node:stream';
import type { OutputWriter } from '../runner/output/output-writer.ts';

/** Makes a stream of a process's input. */
export function bytesTo(input: Writable): WritableStream<Uint8Array> {
  return new WritableStream({
    write: (chunk) =>
      new Promise((resolve, reject) => {
        input.write(chunk, (failed) => (failed ? reject(failed) : resolve()));
      }),
  });
}

/** Makes a stream of everything that a process prints. */
export function talkOutput(): { writer: OutputWriter; stream: ReadableStream<Uint8Array> } {
  let controller: ReadableStreamDefaultController<Uint8Array> | undefined;
  const stream = new ReadableStream<Uint8Array>({
    start(opened) {
      controller = opened;
    },
    cancel() {
      controller = undefined;
    },
  });
  return {
    stream,
    writer: {
      // The talk reads everything at once, so that nothing is held back here.
      async write(chunk) {
        controller?.enqueue(chunk);
      },
      async end() {
        controller?.close();
        controller = undefined;
      },
    },
  };
}
