import type { JSONRPCMessage } from '@modelcontextprotocol/server';

/** The longest silence of a stream of events. */
export const keepAliveMs = 15_000;
/** The most frames that wait for a client that does not read; further ones are dropped. */
const maxWaiting = 256;

/** A `text/event-stream` response that is still being written. */
export interface EventStream {
  readonly response: Response;
  /** Returns false if the message was dropped, because the client does not read or the stream has ended. */
  write(message: JSONRPCMessage): boolean;
  /** Ends the stream. `last` is written even if many frames wait. */
  end(last?: JSONRPCMessage): void;
}

/** Opens a stream of events. `onEnd` is called once, when the client or the server has ended it. */
export function openEventStream(onEnd: () => void = () => {}): EventStream {
  const encoder = new TextEncoder();
  let open = true;
  let controller!: ReadableStreamDefaultController<Uint8Array>;
  const body = new ReadableStream<Uint8Array>({
    start: (given) => {
      controller = given;
    },
    cancel: () => finish(),
  });
  const put = (text: string) => controller.enqueue(encoder.encode(text));
  const frame = (message: JSONRPCMessage) => `event: message\ndata: ${JSON.stringify(message)}\n\n`;
  const hasRoom = () => open && (controller.desiredSize ?? 0) > -maxWaiting;
  const timer = setInterval(() => hasRoom() && put(': keepalive\n\n'), keepAliveMs);
  timer.unref();

  function finish(): void {
    if (!open) return;
    open = false;
    clearInterval(timer);
    onEnd();
  }

  return {
    response: new Response(body, {
      headers: {
        'content-type': 'text/event-stream',
        'cache-control': 'no-cache, no-transform',
        'x-accel-buffering': 'no',
      },
    }),
    write(message) {
      if (!hasRoom()) return false;
      put(frame(message));
      return true;
    },
    end(last) {
      if (!open) return;
      if (last) put(frame(last));
      finish();
      controller.close();
    },
  };
}
