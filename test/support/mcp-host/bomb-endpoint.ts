import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { brotliCompressSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib';
import { toolNamed } from './test-servers.ts';

/** The size of a bomb after decompression, in bytes. */
export const bombBytes = 64 * 1024 * 1024;
const letters = (bytes: number) => Buffer.alloc(bytes, 'x');

type Respond = (response: ServerResponse) => void;

const json =
  (encoding: string, compressed: () => Buffer): Respond =>
  (response) => {
    response.writeHead(200, { 'content-type': 'application/json', 'content-encoding': encoding });
    response.end(compressed());
  };

/** Writes the same text until the reader has gone. */
export const endless =
  (contentType: string, text: string, start = ''): Respond =>
  (response) => {
    response.writeHead(200, { 'content-type': contentType });
    response.write(start);
    const write = () => {
      while (response.write(text));
    };
    response.on('drain', write);
    write();
  };

const block = 'x'.repeat(16 * 1024);
const half = bombBytes / 64;

/** The ways in which the server answers a call, by the name of its tool. */
export const bombs: Record<string, Respond> = {
  gzip: json('gzip', () => gzipSync(letters(bombBytes))),
  deflate: json('deflate', () => deflateSync(letters(half))),
  brotli: json('br', () => brotliCompressSync(letters(half))),
  zstd: json('zstd', () => zstdCompressSync(letters(half))),
  nodes: json('gzip', () => gzipSync(`[${'{},'.repeat(1_000_000)}{}]`)),
  endless_json: endless('application/json', block),
  endless_line: endless('text/event-stream', block, 'data: '),
  endless_event: endless('text/event-stream', `data: ${block}\r\n`),
  endless_event_with_id: endless('text/event-stream', `data: ${block}\n`, 'id: 7\n\n'),
};

/** Ends a stream at once, and asks for another without a pause. */
export const hastyStream: Respond = (response) => {
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  response.end('retry: 0\nid: 1\n\n');
};

/** An HTTP endpoint that speaks just enough MCP to send bombs. */
export interface BombEndpoint extends AsyncDisposable {
  url: string;
  /** The number of responses whose reader left before their end. */
  readonly cutOff: number;
  /** The number of streams that were opened. */
  readonly streams: number;
}

/** Starts an endpoint. `list` answers `tools/list`, and the others the GET of a stream, where they are given. */
export async function startBombEndpoint(
  at: { list?: Respond; firstStream?: Respond; everyStream?: Respond } = {},
): Promise<BombEndpoint> {
  let cutOff = 0;
  let streams = 0;
  const server = createServer(async (request, response) => {
    response.on('close', () => {
      if (!response.writableFinished) cutOff++;
    });
    if (request.method === 'GET') {
      streams++;
      if (at.everyStream) return at.everyStream(response);
      if (streams === 1 && at.firstStream) return at.firstStream(response);
    }
    if (request.method !== 'POST') return response.writeHead(405).end();
    const { id, method, params } = JSON.parse(await bodyOf(request));
    const answer = (result: object) => {
      response.writeHead(200, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ jsonrpc: '2.0', id, result }));
    };
    if (id === undefined) return response.writeHead(202).end();
    if (method === 'initialize') {
      return answer({
        protocolVersion: '2025-11-25',
        capabilities: { tools: {} },
        serverInfo: { name: 'bomb', version: '1' },
      });
    }
    if (method === 'tools/list') {
      const names = [...Object.keys(bombs), 'twice', 'honest'];
      return at.list ? at.list(response) : answer({ tools: names.map((name) => toolNamed(name)) });
    }
    if (method !== 'tools/call') return answer({});
    if (params.name === 'honest') return answer({ content: [{ type: 'text', text: 'hello' }] });
    if (params.name === 'twice') {
      const text = JSON.stringify({ jsonrpc: '2.0', id, result: { content: [] } });
      return json('gzip, gzip', () => gzipSync(gzipSync(text)))(response);
    }
    return bombs[params.name]!(response);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`,
    get streams() {
      return streams;
    },
    get cutOff() {
      return cutOff;
    },
    async [Symbol.asyncDispose]() {
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  const parts: Buffer[] = [];
  for await (const part of request) parts.push(part);
  return Buffer.concat(parts).toString();
}
