import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { encodeFrame, splitFrames } from '@signalbox/protocol';
import { type WebSocket, WebSocketServer } from 'ws';

export interface HeardFrame {
  type: string;
  [field: string]: unknown;
}

/** A broker that welcomes its one client and grants its inbox by itself; the test decides about everything else. */
export interface ScriptedBroker extends AsyncDisposable {
  readonly url: string;
  /** The frames that came over all connections. */
  readonly heard: HeardFrame[];
  /** Resolves with the first frame of this type that was not taken, now or later. */
  next(type: string): Promise<HeardFrame>;
  /** Sends one WebSocket message of these frames. */
  say(...frames: [header: object, body?: string][]): void;
  /** Cuts the connection off. */
  cut(): void;
}

export async function openScriptedBroker(): Promise<ScriptedBroker> {
  const server = new WebSocketServer({ host: '127.0.0.1', port: 0, handleProtocols: ([first]) => first! });
  await once(server, 'listening');
  const heard: HeardFrame[] = [];
  let untaken: HeardFrame[] = [];
  let tell = Promise.withResolvers<void>();
  let socket: WebSocket | undefined;
  const say = (...frames: [object, string?][]): void =>
    socket!.send(frames.map(([header, body]) => encodeFrame(header, body)).join(''));
  const hear = (frame: HeardFrame): void => {
    heard.push(frame);
    untaken.push(frame);
    if (frame.type === 'hello') say([welcomeTo(String(frame.agent))]);
    if (frame.type === 'subscribe') {
      const { request_id } = frame;
      say([{ type: 'subscribed', request_id, lease: 'l', pending: 0, head_seq: 0 }]);
    }
    tell.resolve();
    tell = Promise.withResolvers();
  };
  server.on('connection', (connection) => {
    socket = connection;
    connection.on('message', (data) => {
      for (const { header } of splitFrames(String(data))) hear(JSON.parse(header));
    });
  });
  return {
    url: `ws://127.0.0.1:${(server.address() as AddressInfo).port}`,
    heard,
    async next(type) {
      for (;;) {
        const found = untaken.find((frame) => frame.type === type);
        if (found !== undefined) {
          untaken = untaken.filter((frame) => frame !== found);
          return found;
        }
        await tell.promise;
      }
    },
    say,
    cut: () => socket!.terminate(),
    async [Symbol.asyncDispose]() {
      for (const client of server.clients) client.terminate();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function welcomeTo(address: string): object {
  return {
    type: 'welcome',
    broker_id: 'b',
    agent: address.split('#')[0],
    address,
    role: 'worker',
    limits: {},
    heartbeat_ms: 15_000,
    receipt_means: 'fsynced',
    dedupe_window_ms: 1_000,
  };
}
