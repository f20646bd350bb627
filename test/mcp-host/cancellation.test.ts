import { expect, it, vi } from 'vitest';
import { counterHost } from '../support/mcp-host/cancellation.ts';
import { call } from '../support/mcp-host/test-host.ts';

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
