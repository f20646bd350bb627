import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Readable } from 'node:stream';
import { json } from 'node:stream/consumers';

/** Answers a request of JSON-RPC, by its method. */
type Answers = Record<string, (response: ServerResponse, reply: (result: object) => void) => void>;

interface Seen {
  path: string;
  authorization: string | undefined;
}

/** A server that does as a test says, and remembers who asked. `card` changes the card of an honest agent. */
export async function startHostileServer(
  answers: Answers = {},
  card: (origin: string) => object = () => ({}),
) {
  const seen: Seen[] = [];
  const server = createServer(async (request: IncomingMessage, response) => {
    const { url: path = '', headers } = request;
    seen.push({ path, authorization: headers.authorization });
    const send = (value: object): void => {
      response.setHeader('content-type', 'application/json');
      response.end(JSON.stringify(value));
    };
    if (request.method === 'GET') {
      const special = answers[path];
      if (special) return special(response, send);
      const supportedInterfaces = [
        { url: `${origin}/rpc`, protocolBinding: 'JSONRPC', protocolVersion: '1.0' },
      ];
      return send({ name: 'x', capabilities: { streaming: true }, supportedInterfaces, ...card(origin) });
    }
    const { id, method } = (await json(request)) as { id: number; method: string };
    const reply = (result: object): void => send({ jsonrpc: '2.0', id, result });
    const answer = answers[method];
    if (answer) answer(response, reply);
    else send({ jsonrpc: '2.0', id, error: { code: -32601, message: 'no such method' } });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    origin,
    seen,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
    },
  };
}

export const working = { id: 't', contextId: 'c', status: { state: 'TASK_STATE_WORKING' } };
export const completed = {
  ...{ id: 't', contextId: 'c', status: { state: 'TASK_STATE_COMPLETED' } },
  artifacts: [{ artifactId: 'a', parts: [{ text: 'done' }] }],
};

/** Writes so many MiB of JSON, as long as somebody reads. */
export function flood(response: ServerResponse, mebibytes: number): void {
  response.setHeader('content-type', 'application/json');
  pour(response, '{"jsonrpc":"2.0","result":"', 'x'.repeat(1024 * 1024), mebibytes);
}

/** Writes a beginning, and then the same piece again and again, as long as somebody reads. */
export function pour(
  response: ServerResponse,
  beginning: string,
  piece: string,
  times = Number.POSITIVE_INFINITY,
): void {
  const pieces = function* () {
    yield beginning;
    for (let n = 0; n < times; n++) yield piece;
  };
  Readable.from(pieces()).pipe(response.on('error', () => {}));
}
