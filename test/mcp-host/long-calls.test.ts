import { Agent, getGlobalDispatcher, setGlobalDispatcher } from 'undici';
import { expect, test, vi } from 'vitest';
import { startRawHttpServer } from '../support/mcp-host/raw-http-server.ts';
import { call, startTestHost } from '../support/mcp-host/test-host.ts';

/** Gives Node's own `fetch` little patience, until it is disposed. */
function impatientFetch(): Disposable {
  const before = getGlobalDispatcher();
  setGlobalDispatcher(new Agent({ headersTimeout: 50, bodyTimeout: 50 }));
  return { [Symbol.dispose]: () => setGlobalDispatcher(before) };
}

test.each(['legacy', 'modern'] as const)(
  'a call to a %s server may be silent for longer than fetch waits',
  async (era) => {
    const text = { content: [{ type: 'text', text: 'at last' }] };
    const result = { result: era === 'modern' ? { resultType: 'complete', ...text } : text };
    const released = Promise.withResolvers<void>();
    await using server = await startRawHttpServer(era, {
      dig: {
        call: async () => {
          await released.promise;
          return [result];
        },
      },
    });
    await using host = startTestHost({ servers: { mine: { type: 'http', url: server.url } } });
    await host.inventory();
    using _impatient = impatientFetch();
    const digging = call(host, 'mcp_mine__dig');
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'dig' } });
    await expect(fetch(server.url, { method: 'POST', body })).rejects.toMatchObject({
      cause: { code: 'UND_ERR_HEADERS_TIMEOUT' },
    });
    released.resolve();
    expect(await digging).toMatchObject({ result: text });
  },
);

test('the stream of a call that was given up is closed', async () => {
  const ends: string[] = [];
  await using server = await startRawHttpServer('legacy', {
    dig: {
      call: (_params, request) => {
        request.signal.addEventListener('abort', () => ends.push('closed'));
        const body = new ReadableStream<Uint8Array>({
          start: (controller) => controller.enqueue(new TextEncoder().encode('id: 7\nretry: 1\ndata:\n\n')),
        });
        return new Response(body, { headers: { 'content-type': 'text/event-stream' } });
      },
    },
  });
  await using host = startTestHost({ servers: { mine: { type: 'http', url: server.url } } });
  await host.inventory();
  const abort = new AbortController();
  const digging = call(host, 'mcp_mine__dig', {}, { signal: abort.signal });
  const methods = (): unknown[] => server.received.map(({ method }) => method);
  await vi.waitFor(() => expect(methods()).toContain('tools/call'));
  abort.abort();
  expect(await digging).toMatchObject({ error: { code: 'cancelled', may_have_run: true } });
  await vi.waitFor(() => expect(ends).toEqual(['closed']));
  expect(methods()).toContain('notifications/cancelled');
});
