import { type JSONRPCMessage, ProtocolErrorCode, type Transport } from '@modelcontextprotocol/client';

/** The most refusals that wait to be written. Beyond them, requests are dropped. */
const maxWaiting = 100;

/**
 * Refuses each request that a server of the 2026-07-28 revision sends: these servers ask by results. Workaround for the SDK 2.4.0: its
 * client drops these requests, so that the server waits for an answer, and its call with it. The transport must be connected. `onFirst` is
 * called with the first request.
 */
export function refuseRequests(transport: Transport, onFirst: (reason: string) => void): void {
  const receive = transport.onmessage;
  let waiting = 0;
  let isTold = false;
  transport.onmessage = (message, extra) => {
    if (!isRequest(message)) return receive?.(message, extra);
    if (!isTold) onFirst(`it sends requests, which its revision forbids: '${message.method.slice(0, 64)}'`);
    isTold = true;
    if (waiting >= maxWaiting) return;
    waiting++;
    const error = {
      code: ProtocolErrorCode.MethodNotFound,
      message: 'this revision has no requests of servers: ask by a result of the type input_required',
    };
    transport
      .send({ jsonrpc: '2.0', id: message.id, error })
      .catch(() => {})
      .finally(() => waiting--);
  };
}

function isRequest(
  message: JSONRPCMessage,
): message is JSONRPCMessage & { method: string; id: string | number } {
  return 'method' in message && 'id' in message;
}
