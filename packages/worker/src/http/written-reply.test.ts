import { once } from 'node:events';
import { createServer, type IncomingMessage, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { WrittenReply } from './written-reply.ts';

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval'] });
});
afterEach(() => {
  vi.useRealTimers();
});

const message = { jsonrpc: '2.0', id: 1, result: { content: [] } };
const event = `event: message\ndata: ${JSON.stringify(message)}\n\n`;

/** Begins the answer to a request. `response` resolves with what the client gets. */
async function beginReply() {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const sent = request({ host: '127.0.0.1', port, agent: false });
  sent.on('error', () => {});
  const response = once(sent, 'response').then(([got]) => got as IncomingMessage);
  response.catch(() => {});
  sent.end();
  const [, to] = await once(server, 'request');
  return {
    reply: new WrittenReply(to, { events: 'also', stallMs: 1000 }),
    response,
    hangUp: () => sent.destroy(),
    async [Symbol.asyncDispose]() {
      sent.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

async function textOf(response: IncomingMessage): Promise<string> {
  let text = '';
  for await (const part of response.setEncoding('utf8')) text += part;
  return text;
}

test('An answer that comes soon is one piece of JSON.', async () => {
  await using begun = await beginReply();
  begun.reply.openAfter(10);
  begun.reply.refuse({ status: 404, message: 'nothing is here', headers: { 'retry-after': '1' } }, 'ä');
  begun.reply.json(message);
  const response = await begun.response;
  const text = '{"jsonrpc":"2.0","error":{"code":-32000,"message":"nothing is here"},"id":"ä"}';
  expect(response.statusCode).toBe(404);
  expect(response.headers).toMatchObject({
    'content-type': 'application/json',
    'content-length': String(Buffer.byteLength(text)),
    'retry-after': '1',
  });
  expect(await textOf(response)).toBe(text);
});

test('A request that takes 11 minutes has a stream after 25 s, which is never silent for long and ends with the answer.', async () => {
  await using begun = await beginReply();
  begun.reply.openAfter(25_000);
  vi.advanceTimersByTime(25_000);
  const response = await begun.response;
  expect(response.headers['content-type']).toBe('text/event-stream');
  const parts = response.setEncoding('utf8')[Symbol.asyncIterator]();
  for (let seconds = 25; seconds < 11 * 60; seconds += 15) {
    expect((await parts.next()).value).toBe(': keepalive\n\n');
    vi.advanceTimersByTime(15_000);
  }
  expect((await parts.next()).value).toBe(': keepalive\n\n');
  begun.reply.json(message);
  expect((await parts.next()).value).toBe(event);
  expect((await parts.next()).done).toBe(true);
});

test('What is told before the answer is in a stream with it, and so is an answer of the SDK.', async () => {
  await using begun = await beginReply();
  expect(begun.reply.tell(message)).toBe(true);
  await begun.reply.pass(Response.json(message));
  expect(begun.reply.tell(message)).toBe(false);
  expect(await textOf(await begun.response)).toBe(event + event);
});

test('A stream of the SDK goes on in the one that is open.', async () => {
  await using begun = await beginReply();
  begun.reply.openAfter(10);
  vi.advanceTimersByTime(10);
  const headers = { 'content-type': 'text/event-stream' };
  await begun.reply.pass(new Response('data: 1\n\n', { headers }));
  expect(await textOf(await begun.response)).toBe(': keepalive\n\ndata: 1\n\n');
});

test('A client that hangs up is told to the call, and ends the stream of the SDK.', async () => {
  await using begun = await beginReply();
  const hungUp = new Promise<void>((resolve) => {
    begun.reply.onHangUp = resolve;
  });
  const cancelled = Promise.withResolvers<void>();
  const body = new ReadableStream({ cancel: () => cancelled.resolve() });
  const passed = begun.reply.pass(new Response(body, { headers: { 'content-type': 'text/event-stream' } }));
  await begun.response;
  begun.hangUp();
  await Promise.all([hungUp, cancelled.promise, passed]);
  expect(begun.reply.isClosed).toBe(true);
});

test('Events wait for a client that does not read, and those beyond 256 are dropped; the answer is not.', async () => {
  await using begun = await beginReply();
  const text = 'x'.repeat(1 << 16);
  let waiting = 0;
  begun.reply.onWaiting = (bytes) => {
    waiting += bytes;
  };
  const told = Array.from({ length: 600 }, () => begun.reply.tell({ text }));
  expect(waiting).toBeGreaterThan(1 << 16);
  expect(told.lastIndexOf(true)).toBe(told.indexOf(false) - 1);
  begun.reply.json(message);
  const got = (await textOf(await begun.response)).split('\n\n');
  expect(got).toHaveLength(told.indexOf(false) + 2);
  expect(`${got.at(-2)}\n\n`).toBe(event);
  expect(waiting).toBe(0);
});
