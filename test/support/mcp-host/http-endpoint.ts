import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Readable } from 'node:stream';

export interface HttpEndpoint extends AsyncDisposable {
  url: string;
  port: number;
  /** The headers of every request so far. */
  requests: Headers[];
  /** Breaks every connection off, as a crash would. */
  crash(): Promise<void>;
}

/** Serves web-standard handlers on the loopback interface. */
export async function startEndpoint(
  handle: (request: Request) => Promise<Response>,
  port = 0,
): Promise<HttpEndpoint> {
  const requests: Headers[] = [];
  const server = createServer(async (incoming, outgoing) => {
    const request = webRequest(incoming, outgoing);
    requests.push(request.headers);
    const response = await handle(request).catch(() => new Response('the handler failed', { status: 502 }));
    await answer(response, outgoing);
  });
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  const { port: actual } = server.address() as AddressInfo;
  const crash = async () => {
    const closed = once(server, 'close');
    server.close();
    server.closeAllConnections();
    await closed;
  };
  return {
    url: `http://127.0.0.1:${actual}/mcp`,
    port: actual,
    requests,
    crash,
    [Symbol.asyncDispose]: async () => (server.listening ? crash() : undefined),
  };
}

function webRequest(incoming: IncomingMessage, outgoing: ServerResponse): Request {
  const gone = new AbortController();
  outgoing.on('close', () => gone.abort());
  const headers = Object.entries(incoming.headers).map(
    ([name, value]) => [name, String(value)] as [string, string],
  );
  const hasBody = incoming.method === 'POST';
  return new Request(new URL(incoming.url ?? '/', 'http://127.0.0.1'), {
    method: incoming.method ?? 'GET',
    headers,
    signal: gone.signal,
    ...(hasBody && { body: Readable.toWeb(incoming) as ReadableStream, duplex: 'half' as const }),
  });
}

async function answer(response: Response, outgoing: ServerResponse): Promise<void> {
  outgoing.writeHead(response.status, Object.fromEntries(response.headers));
  outgoing.flushHeaders();
  try {
    for await (const chunk of response.body ?? []) outgoing.write(chunk);
    outgoing.end();
  } catch {
    outgoing.destroy();
  }
}
