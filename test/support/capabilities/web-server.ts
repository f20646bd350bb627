import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A request as it arrived. */
export interface Arrival {
  method: string;
  /** The path with the query, as on the wire. */
  url: string;
  headers: IncomingHttpHeaders;
  body: string;
}

export interface WebServer extends AsyncDisposable {
  host: string;
  origin: string;
  /** All requests that arrived, in order. */
  arrivals: Arrival[];
}

/** A real HTTP server on 127.0.0.1, whose answers the test makes up. */
export async function startWebServer(
  answer: (arrival: Arrival, response: ServerResponse) => void | Promise<void>,
): Promise<WebServer> {
  const arrivals: Arrival[] = [];
  const server = createServer(async (request, response) => {
    let body = '';
    for await (const chunk of request.setEncoding('utf8')) body += chunk;
    const { method = '', url = '', headers } = request;
    const arrival = { method, url, headers, body };
    arrivals.push(arrival);
    await answer(arrival, response);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    host,
    origin: `http://${host}`,
    arrivals,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

export function json(response: ServerResponse, status: number, value: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value));
}
