import { expect, it } from 'vitest';
import { counterHost } from '../support/mcp-host/cancellation.ts';
import { call } from '../support/mcp-host/test-host.ts';

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
