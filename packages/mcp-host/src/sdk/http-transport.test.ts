import { afterEach, expect, test, vi } from 'vitest';
import { httpTransport } from './http-transport.ts';
import type { Fetch } from './request-fetch.ts';

afterEach(() => {
  vi.useRealTimers();
});

/** A server of an older revision whose streams can be resumed: it begins each, and sends nothing more. */
function silentServer() {
  const requests: { method: string; isOpen: boolean }[] = [];
  const send: Fetch = async (_url, { method = 'GET', body, signal } = {}) => {
    const request = { method, isOpen: true };
    requests.push(request);
    if (String(body).includes('notifications/')) return new Response(null, { status: 202 });
    const stream = new ReadableStream<Uint8Array>({
      start(controller) {
        controller.enqueue(new TextEncoder().encode('id: 7\ndata:\n\n'));
        signal?.addEventListener('abort', () => {
          request.isOpen = false;
          controller.error(signal.reason);
        });
      },
    });
    return new Response(stream, { headers: { 'content-type': 'text/event-stream' } });
  };
  return { requests, send };
}

const config = { type: 'http' as const, url: 'http://127.0.0.1/mcp' };

function observer() {
  return {
    onUnreachable: vi.fn(),
    onSessionRefused: vi.fn(),
    onUnauthorized: vi.fn(),
    onStreamTooLarge: vi.fn(),
    onNoticesMissed: vi.fn(),
    onSessionDoubted: vi.fn(),
  };
}

test('a stream of notices whose server asks for a longer pause than a timer takes is not opened again at once', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  let opened = 0;
  const send: Fetch = async (_url, { method } = {}) => {
    if (method !== 'GET') return new Response(null, { status: 202 });
    opened++;
    return new Response(`retry: ${2 ** 31}\n\n`, { headers: { 'content-type': 'text/event-stream' } });
  };
  const transport = httpTransport(config, observer(), { now: () => 0, send });
  await transport.start();
  await transport.send({ jsonrpc: '2.0', method: 'notifications/initialized' });
  await vi.waitFor(() => expect(vi.getTimerCount()).toBe(1));
  await vi.advanceTimersByTimeAsync(60_000);
  expect(opened).toBe(1);
  await transport.close();
});

test('the stream of a request that was given up is ended, and not opened again', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  const { requests, send } = silentServer();
  const observed = observer();
  const transport = httpTransport(config, observed, { now: () => 0, send });
  await transport.start();
  const call = (id: number) => transport.send({ jsonrpc: '2.0', id, method: 'tools/call', params: {} });
  await call(1);
  await call(2);
  await transport.send({
    jsonrpc: '2.0',
    method: 'notifications/cancelled',
    params: { requestId: 1 },
  });
  await vi.advanceTimersByTimeAsync(60_000);
  expect(requests).toEqual([
    { method: 'POST', isOpen: false },
    { method: 'POST', isOpen: true },
    { method: 'POST', isOpen: true },
  ]);
  expect(observed.onUnreachable).not.toHaveBeenCalled();
  await transport.close();
});
