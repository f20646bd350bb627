import { join } from 'node:path';
import { counterServer, readCounter, tempDir } from '@signalbox/testing';
import { expect, it, vi } from 'vitest';
import { call, startTestHost } from '../support/mcp-host/test-host.ts';

async function counterHost(timeoutMs?: number) {
  const dir = await tempDir();
  const file = join(dir.path, 'count');
  const counter = { ...counterServer(file), ...(timeoutMs !== undefined && { timeoutMs }) };
  const host = startTestHost({ servers: { counter } });
  await host.inventory();
  return {
    host,
    lines: () => readCounter(file).map(({ tool, at }) => `${tool} ${at}`),
    async [Symbol.asyncDispose]() {
      await host.close();
      await dir[Symbol.asyncDispose]();
    },
  };
}

it('carries an abort through to the server, and says so rather than calling it a timeout', async () => {
  await using t = await counterHost();
  const abort = new AbortController();
  const running = call(t.host, 'mcp_counter__slow', { ms: 60_000 }, { signal: abort.signal });
  await vi.waitFor(() => expect(t.lines()).toEqual(['slow start']));
  abort.abort();
  expect(await running).toMatchObject({ error: { code: 'cancelled', retryable: false, may_have_run: true } });
  await vi.waitFor(() => expect(t.lines()).toEqual(['slow start', 'slow cancelled']));
  expect(await call(t.host, 'mcp_counter__echo')).toHaveProperty('result');
});

it('does not send a call that was aborted before', async () => {
  await using t = await counterHost();
  const signal = AbortSignal.abort();
  expect(await call(t.host, 'mcp_counter__count', {}, { signal })).toMatchObject({
    error: { code: 'cancelled', may_have_run: false },
  });
  await call(t.host, 'mcp_counter__echo');
  expect(t.lines()).toEqual(['echo start', 'echo end']);
});

it("ends a call at its deadline with an unknown outcome if it can't be repeated, and the server stops working on it", async () => {
  await using t = await counterHost();
  const outcome = await call(t.host, 'mcp_counter__slow', { ms: 60_000 }, { timeoutMs: 300 });
  expect(outcome).toMatchObject({ error: { code: 'outcome_unknown', retryable: false, may_have_run: true } });
  await vi.waitFor(() => expect(t.lines()).toEqual(['slow start', 'slow cancelled']));
});

it('ends a call at the deadline however much progress it reports', async () => {
  await using t = await counterHost();
  const progress: unknown[] = [];
  const outcome = await call(
    t.host,
    'mcp_counter__slow',
    { ms: 4_000 },
    { timeoutMs: 1_500, onProgress: (update) => progress.push(update) },
  );
  expect(outcome).toMatchObject({ error: { code: 'outcome_unknown' } });
  expect(progress).toEqual([{ progress: 1, total: 4, message: 'step 1' }]);
});

it("ends a call at its server's own limit when that comes first", async () => {
  await using t = await counterHost(200);
  expect(await call(t.host, 'mcp_counter__slow', { ms: 60_000 })).toMatchObject({
    error: { code: 'outcome_unknown' },
  });
  expect(await call(t.host, 'mcp_counter__count')).toMatchObject({ result: { structuredContent: { n: 1 } } });
});

it('carries a large result whole', async () => {
  await using t = await counterHost();
  const bytes = 9 * 1024 * 1024;
  const { result } = (await call(t.host, 'mcp_counter__big', { bytes })) as {
    result: { content: [{ text: string }] };
  };
  expect(result.content[0].text).toHaveLength(bytes);
});

it('carries large arguments whole, many at a time', async () => {
  await using t = await counterHost();
  const text = 'y'.repeat(512 * 1024);
  const outcomes = await Promise.all(
    Array.from({ length: 12 }, (_, i) => call(t.host, 'mcp_counter__echo', { i, text })),
  );
  for (const [i, outcome] of outcomes.entries()) {
    expect(outcome).toMatchObject({ result: { structuredContent: { i, text } } });
  }
});
