import { once } from 'node:events';
import { encodeFrame, protocolVersion, splitFrames, subprotocol } from '@signalbox/protocol';
import { type ClientOptions, WebSocket } from 'ws';

/** A frame as it came over the wire, not validated; `body` is the raw body line. */
export interface WireFrame {
  type: string;
  [field: string]: unknown;
  body?: string;
}

/** A bare socket that speaks only frames, like a client in another language, or a hostile one. */
export interface WireClient extends AsyncDisposable {
  readonly socket: WebSocket;
  /** Every frame received so far. */
  readonly received: WireFrame[];
  /** Sends one WebSocket message unchanged. */
  raw(text: string | Buffer): void;
  send(header: Record<string, unknown>, body?: string): void;
  /** Takes the first frame of these types with these fields, as soon as there is one. Rejects if the socket closes first, or is closed already. */
  next(type: string | readonly string[], fields?: Record<string, unknown>): Promise<WireFrame>;
  /** Resolves with code and reason when the socket is closed. */
  readonly closed: Promise<{ code: number; reason: string }>;
}

/** Opens a socket to a broker; with `agent` and `token` it says hello and waits for the welcome. */
export async function connectWire(
  url: string,
  hello?: { agent: string; token: string; fields?: Record<string, unknown> },
  options: ClientOptions & { protocols?: string[] } = {},
): Promise<WireClient> {
  const { protocols = [subprotocol], ...clientOptions } = options;
  const socket = new WebSocket(url, protocols, { perMessageDeflate: false, ...clientOptions });
  const client = wireClient(socket);
  const ended = client.closed.then(({ code }) =>
    Promise.reject(new Error(`closed with ${code} before it opened`)),
  );
  await Promise.race([once(socket, 'open'), ended]);
  ended.catch(() => {});
  if (hello) {
    client.send({
      type: 'hello',
      agent: hello.agent,
      token: hello.token,
      protocol: protocolVersion,
      ...hello.fields,
    });
    await client.next('welcome');
  }
  return client;
}

interface Waiter {
  matches: (frame: WireFrame) => boolean;
  resolve: (frame: WireFrame) => void;
  reject: (error: Error) => void;
}

function wireClient(socket: WebSocket): WireClient {
  const received: WireFrame[] = [];
  const untaken: WireFrame[] = [];
  const waiters = new Set<Waiter>();
  let closing: Error | undefined;
  socket.on('message', (data) => {
    for (const { header, body } of splitFrames(String(data))) {
      const frame: WireFrame = { ...JSON.parse(header), ...(body !== undefined && { body }) };
      received.push(frame);
      const waiter = [...waiters].find((candidate) => candidate.matches(frame));
      if (!waiter) untaken.push(frame);
      else {
        waiters.delete(waiter);
        waiter.resolve(frame);
      }
    }
  });
  socket.on('error', () => {});
  const closed = new Promise<{ code: number; reason: string }>((resolve) => {
    socket.on('close', (code, reason) => {
      resolve({ code, reason: String(reason) });
      closing = new Error(`closed with ${code} ${reason}`);
      for (const waiter of waiters) waiter.reject(closing);
    });
  });
  return {
    socket,
    received,
    closed,
    raw: (text) => socket.send(text),
    send: (header, body) => socket.send(encodeFrame(header, body)),
    next(type, fields = {}) {
      const types = [type].flat();
      const matches = (frame: WireFrame): boolean =>
        types.includes(frame.type) && Object.entries(fields).every(([name, value]) => frame[name] === value);
      const at = untaken.findIndex(matches);
      if (at >= 0) return Promise.resolve(untaken.splice(at, 1)[0]!);
      if (closing) return Promise.reject(closing);
      return new Promise((resolve, reject) => waiters.add({ matches, resolve, reject }));
    },
    async [Symbol.asyncDispose]() {
      socket.terminate();
      await closed;
    },
  };
}
