import { once } from 'node:events';
import { request as httpRequest, type OutgoingHttpHeaders } from 'node:http';
import type { Socket } from 'node:net';
import { text } from 'node:stream/consumers';

/** The answer to an HTTP request. */
export interface Response {
  status: number;
  headers: Record<string, string | string[] | undefined>;
  body: string;
}

/** Sends one HTTP request to a port or a Unix socket. */
export async function ask(
  to: { port: number } | { socketPath: string },
  path: string,
  {
    method = 'GET',
    headers = {},
    body,
  }: { method?: string; headers?: OutgoingHttpHeaders; body?: string } = {},
): Promise<Response> {
  const length = body === undefined ? {} : { 'content-length': body.length };
  const options = { host: '127.0.0.1', agent: false, ...to, path, method };
  const request = httpRequest({ ...options, headers: { ...length, ...headers } });
  request.end(body);
  const [response] = await once(request, 'response');
  return { status: response.statusCode, headers: response.headers, body: await text(response) };
}

/** Reads from a socket until it is closed, however it is closed. */
export async function readToEnd(socket: Socket): Promise<string> {
  let read = '';
  socket.on('data', (part) => {
    read += String(part);
  });
  if (!socket.closed) await new Promise((resolve) => socket.once('close', resolve));
  return read;
}

/** Returns the value of a series. */
export function figureOf(metrics: string, series: string): number | undefined {
  const line = metrics.split('\n').find((one) => one.startsWith(`${series} `));
  return line === undefined ? undefined : Number(line.slice(series.length + 1));
}
