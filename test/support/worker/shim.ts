import { connect, createServer, type Socket } from 'node:net';
import { PassThrough } from 'node:stream';
import type { JSONRPCMessage, Transport } from '@modelcontextprotocol/client';
import { JsonLineReader, jsonLine } from '@signalbox/protocol';
import { type Child, startChild } from '@signalbox/testing';
import { runShim, type ShimEnd, type ShimOptions } from '@signalbox/worker/shim';

/** Starts a shared face in a process of its own, which a test can kill. */
export function startFaceProcess(path: string, url: string, taskAfterMs?: number): Promise<Child<unknown>> {
  const args = [path, url, ...(taskAfterMs === undefined ? [] : [String(taskAfterMs)])];
  return startChild(new URL('./shared-face-main.ts', import.meta.url), { args });
}

/** A shim in this process, and the client's ends of its streams. */
export interface ShimUnderTest extends AsyncDisposable {
  readonly toShim: PassThrough;
  readonly fromShim: PassThrough;
  readonly transport: Transport;
  readonly notices: string[];
  readonly ended: Promise<ShimEnd>;
}

export function startShim(
  path: string,
  token: string,
  options: Partial<Omit<ShimOptions, 'input' | 'output' | 'stop' | 'session'>> = {},
): ShimUnderTest {
  const [toShim, fromShim] = [new PassThrough(), new PassThrough()];
  const stop = Promise.withResolvers<void>();
  const notices: string[] = [];
  const ended = runShim({
    path,
    session: { token, options: {} },
    renewToken: () => token,
    startWaitMs: 10_000,
    input: toShim,
    output: fromShim,
    stop: stop.promise,
    notice: (text) => notices.push(text),
    ...options,
  });
  return {
    toShim,
    fromShim,
    transport: streamTransport(fromShim, toShim),
    notices,
    ended,
    async [Symbol.asyncDispose]() {
      stop.resolve();
      await ended;
    },
  };
}

/** The client's side of a server on two streams. */
function streamTransport(input: PassThrough, output: PassThrough): Transport {
  const lines = new JsonLineReader();
  const transport: Transport = {
    async start() {
      input.on('data', (chunk) => {
        for (const line of lines.push(chunk)) transport.onmessage?.(JSON.parse(line) as JSONRPCMessage);
      });
    },
    async send(message) {
      output.write(`${jsonLine(message)}\n`);
    },
    async close() {
      output.end();
      transport.onclose?.();
    },
  };
  return transport;
}

/** A socket between shims and a face, which can lose a line of the face and the connection with it. */
export interface LossyRelay extends AsyncDisposable {
  readonly path: string;
  /** Loses the next line of the face that holds the text. Resolves when it was lost. */
  loseLine(text: string): Promise<void>;
}

export async function startRelay(path: string, facePath: string): Promise<LossyRelay> {
  let losing: { text: string; lost: () => void } | undefined;
  const sockets = new Set<Socket>();
  const server = createServer((shim) => {
    const face = connect(facePath);
    const lines = new JsonLineReader();
    const end = () => {
      shim.destroy();
      face.destroy();
    };
    for (const socket of [shim, face]) {
      sockets.add(socket);
      socket.on('error', end).on('close', end);
    }
    shim.pipe(face);
    face.on('data', (chunk) => {
      for (const line of lines.push(chunk)) {
        if (losing && line.includes(losing.text)) {
          losing.lost();
          losing = undefined;
          return end();
        }
        shim.write(`${line}\n`);
      }
    });
  });
  await new Promise<void>((resolve) => server.listen(path, resolve));
  return {
    path,
    loseLine: (text) => new Promise((lost) => (losing = { text, lost })),
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
