import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { defaultSilenceMs, keptOpen } from './kept-open.ts';

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval'] });
});
afterEach(() => {
  vi.useRealTimers();
});

const message = { jsonrpc: '2.0', id: 1, result: { content: [] } };

test('an answer that comes soon is handed on as it is', async () => {
  const answer = Response.json(message, { status: 404 });
  expect(await keptOpen(Promise.resolve(answer), defaultSilenceMs)).toBe(answer);
});

test('a request that takes 11 minutes has a stream after 25 s, which is never silent for long and ends with the answer', async () => {
  const answering = Promise.withResolvers<Response>();
  const opening = keptOpen(answering.promise, defaultSilenceMs);
  await vi.advanceTimersByTimeAsync(25_000);
  const response = await opening;
  expect(response.headers.get('content-type')).toBe('text/event-stream');
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
  for (let seconds = 25; seconds < 11 * 60; seconds += 15) {
    expect((await reader.read()).value).toBe(': keepalive\n\n');
    await vi.advanceTimersByTimeAsync(15_000);
  }
  expect((await reader.read()).value).toBe(': keepalive\n\n');
  answering.resolve(Response.json(message));
  expect((await reader.read()).value).toBe(`event: message\ndata: ${JSON.stringify(message)}\n\n`);
  expect(await reader.read()).toEqual({ done: true, value: undefined });
});

test('an answer that is a stream itself goes on in the one that is open', async () => {
  const answering = Promise.withResolvers<Response>();
  const opening = keptOpen(answering.promise, 10);
  await vi.advanceTimersByTimeAsync(10);
  const response = await opening;
  answering.resolve(new Response('data: 1\n\n', { headers: { 'content-type': 'text/event-stream' } }));
  expect(await response.text()).toBe(': keepalive\n\ndata: 1\n\n');
});

test('a client that has hung up ends the answer', async () => {
  const answering = Promise.withResolvers<Response>();
  const opening = keptOpen(answering.promise, 10);
  await vi.advanceTimersByTimeAsync(10);
  await (await opening).body!.cancel();
  const cancelled = Promise.withResolvers<void>();
  const body = new ReadableStream({ cancel: () => cancelled.resolve() });
  answering.resolve(new Response(body, { headers: { 'content-type': 'text/event-stream' } }));
  await expect(cancelled.promise).resolves.toBeUndefined();
});
