import { randomBytes } from 'node:crypto';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { JsonLineReader } from '@signalbox/protocol';
import { tempDir } from '@signalbox/testing';
import {
  type FaceSessionEvent,
  type SharedFace,
  type SharedFaceOptions,
  serveSharedFace,
} from '@signalbox/worker/internal';
import { startToolStack, type ToolStack, type ToolStackOptions } from '../orchestrator/tool-stack.ts';

type Json = Record<string, unknown>;

/** A connection to a shared face, written by hand as a shim does. */
export interface ShimConnection extends AsyncDisposable {
  readonly socket: Socket;
  /** Every line that came, in order. */
  readonly lines: Json[];
  /** Resolves when the face has closed the connection. */
  readonly closed: Promise<void>;
  write(line: string): void;
  /** Sends a request as the n-th one. */
  request(n: number, method: string, params?: Json): void;
  /** Calls a tool as the n-th request, and returns its result. The id of the request is n, too. */
  call(n: number, name: string, args?: unknown): Promise<Json>;
  /** Resolves with the first line, past or future, that has this property. */
  line(property: string, value?: unknown): Promise<Json>;
}

export const newConsumer = (): string => randomBytes(17).toString('base64url').slice(0, 22);

/** Connects and says hello. `hello: false` says nothing. */
export async function connectShim(
  path: string,
  hello: Json | false,
  { initialize = true } = {},
): Promise<ShimConnection> {
  const socket = connect(path);
  const lines: Json[] = [];
  const waiting = new Set<() => void>();
  const reader = new JsonLineReader();
  const { promise: closed, resolve } = Promise.withResolvers<void>();
  socket.on('data', (chunk) => {
    lines.push(...reader.push(chunk).map((line) => JSON.parse(line) as Json));
    for (const wake of waiting) wake();
  });
  socket.on('error', () => {});
  socket.on('close', () => {
    resolve();
    for (const wake of waiting) wake();
  });
  const shim: ShimConnection = {
    socket,
    lines,
    closed,
    write: (line) => void socket.write(`${line}\n`),
    request: (n, method, params = {}) =>
      shim.write(`${n} ${JSON.stringify({ jsonrpc: '2.0', id: n, method, params })}`),
    async call(n, name, args = {}) {
      shim.request(n, 'tools/call', { name, arguments: args });
      return (await shim.line('id', n)) as Json;
    },
    async line(property, value) {
      for (;;) {
        const found = lines.find(
          (line) => property in line && (value === undefined || line[property] === value),
        );
        if (found) return found;
        if (socket.destroyed) throw new Error(`closed before '${property}': ${JSON.stringify(lines)}`);
        await new Promise<void>((wake) => waiting.add(wake));
      }
    },
    async [Symbol.asyncDispose]() {
      socket.destroy();
      await closed;
    },
  };
  if (hello === false) return shim;
  shim.write(JSON.stringify({ signalbox_face: 1, consumer: newConsumer(), ...hello }));
  if (!initialize) return shim;
  await shim.line('welcome');
  shim.request(1, 'initialize', {
    protocolVersion: '2025-11-25',
    capabilities: {},
    clientInfo: { name: 'shim', version: '1' },
  });
  await shim.line('id', 1);
  shim.write(`0 ${JSON.stringify({ jsonrpc: '2.0', method: 'notifications/initialized' })}`);
  return shim;
}

/** A tool stack with a shared face in this process. */
export interface SharedFaceStack extends AsyncDisposable {
  readonly stack: ToolStack;
  readonly path: string;
  readonly events: FaceSessionEvent[];
  face: SharedFace;
  /** Starts another face on the same path. */
  serve(more?: Partial<SharedFaceOptions>): Promise<SharedFace>;
  /** Connects as a shim of an agent. */
  shim(agent: string, more?: Json): Promise<ShimConnection>;
}

export async function startSharedFaceStack(
  stackOptions: ToolStackOptions = {},
  faceOptions: Partial<SharedFaceOptions> = {},
): Promise<SharedFaceStack> {
  await using starting = new AsyncDisposableStack();
  const directory = starting.use(await tempDir());
  const stack = starting.use(await startToolStack(stackOptions));
  const path = join(directory.path, 'face.sock');
  const events: FaceSessionEvent[] = [];
  const serve = (more: Partial<SharedFaceOptions> = {}) =>
    serveSharedFace({
      path,
      connect: { url: stack.broker.url },
      face: { version: '1.2.3' },
      onSession: (event) => events.push(event),
      ...faceOptions,
      ...more,
    });
  const started: SharedFaceStack = {
    stack,
    path,
    events,
    serve,
    face: await serve(),
    shim: async (agent, more = {}) =>
      connectShim(path, { token: await stack.broker.tokenOf(agent, 'worker'), ...more }),
    async [Symbol.asyncDispose]() {
      await started.face.close();
      await rest.disposeAsync();
    },
  };
  const rest = starting.move();
  return started;
}
