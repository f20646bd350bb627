import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, test, vi } from 'vitest';
import { ApiFailure, read } from './request.ts';

/** Starts a server, and has the page's addresses lead to it. */
async function startServer(answer: RequestListener) {
  const server = createServer(answer).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const { promise: arrived, resolve } = Promise.withResolvers<void>();
  const real = fetch;
  vi.stubGlobal('fetch', async (path: string, init: RequestInit) => {
    const response = await real(origin + path, init);
    resolve();
    return response;
  });
  vi.stubGlobal('localStorage', { getItem: () => null });
  return {
    /** Resolves when the page has the head of an answer. */
    arrived,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((closed) => server.close(closed));
    },
  };
}

test('A read that is given up while its answer arrives has no answer.', async () => {
  await using server = await startServer((_request, response) => {
    response.writeHead(200).write('{"body":');
  });
  const abort = new AbortController();
  const answer = read('sign-in', {}, abort.signal);
  await server.arrived;
  abort.abort();
  await expect(answer).rejects.toThrow(expect.objectContaining({ name: 'AbortError' }));
});

test.each([
  ['breaks off', (_: unknown, response: { destroy(): void }) => response.destroy()],
  ['is no JSON', (_: unknown, response: { end(text: string): void }) => response.end('<p>')],
])('An answer that %s says that the broker does not answer.', async (_, answer) => {
  await using _server = await startServer(answer);
  await expect(read('sign-in')).rejects.toThrow(
    new ApiFailure(0, { code: 'unreachable', message: 'The broker does not answer.' }),
  );
});

test.each([
  ['{"error":{"code":"denied","message":"No."}}', { code: 'denied', message: 'No.' }],
  ['<h1>Bad gateway</h1>', { code: 'internal', message: 'The broker answered 502.' }],
])('A failure with the body %s has its own code and message.', async (body, expected) => {
  await using _ = await startServer((_request, response) => response.writeHead(502).end(body));
  await expect(read('sign-in')).rejects.toMatchObject({ status: 502, ...expected });
});
