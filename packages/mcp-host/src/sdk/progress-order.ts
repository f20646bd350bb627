import type { JSONRPCMessage, Transport } from '@modelcontextprotocol/client';

type Receive = NonNullable<Transport['onmessage']>;

/**
 * Makes a connected transport pass on the messages after a progress report only in the next turn of the event loop. Workaround for the SDK
 * 2.4.0: it passes on a result at once but progress a little later, when nobody listens any more for the progress of a call whose result
 * arrived in the same chunk.
 */
export function deliverProgressFirst(transport: Transport): void {
  const receive = transport.onmessage;
  if (receive) transport.onmessage = progressAhead(receive);
}

/** Passes all messages on in order. `later` runs a function when the messages passed on so far have been handled. */
export function progressAhead(
  receive: Receive,
  later: (run: () => void) => void = setImmediate,
): (...received: Parameters<Receive>) => void {
  const waiting: Parameters<Receive>[] = [];
  let isHeld = false;
  const pass = (received: Parameters<Receive>): void => {
    const isProgress = isProgressMessage(received[0]);
    receive(...received);
    if (!isProgress || isHeld) return;
    isHeld = true;
    later(release);
  };
  const mayPass = ([message]: Parameters<Receive>): boolean => !isHeld || isProgressMessage(message);
  function release(): void {
    isHeld = false;
    while (waiting.length > 0 && mayPass(waiting[0]!)) pass(waiting.shift()!);
  }
  return (...received) => {
    if (waiting.length === 0 && mayPass(received)) pass(received);
    else waiting.push(received);
  };
}

function isProgressMessage(message: JSONRPCMessage): boolean {
  return 'method' in message && message.method === 'notifications/progress';
}
