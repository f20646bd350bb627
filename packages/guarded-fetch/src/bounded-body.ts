import { SignalboxError } from '@signalbox/protocol';

/** Reads on as long as the body stays within the bound; then fails with `SignalboxError` `result_too_large`. */
export function boundedBody(
  body: ReadableStream<Uint8Array>,
  maxBytes: number,
  host: string,
): ReadableStream<Uint8Array> {
  let bytes = 0;
  return body.pipeThrough(
    new TransformStream<Uint8Array, Uint8Array>({
      transform(chunk, controller) {
        bytes += chunk.byteLength;
        if (bytes > maxBytes) throw tooLarge(host, maxBytes);
        controller.enqueue(chunk);
      },
    }),
  );
}

export function tooLarge(host: string, maxBytes: number): SignalboxError {
  return new SignalboxError('result_too_large', `the answer of ${host} is larger than ${maxBytes} bytes`, {
    details: { host, maxBytes },
  });
}
