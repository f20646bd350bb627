import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test, vi } from 'vitest';
import { LargeSlices } from '../calls/large-slices.ts';
import { keepLarge } from './keep-large.ts';
import { ResultStore } from './result-store.ts';

test('A large result is kept although the broker is away, and nobody knows the minting token of its agent.', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'signalbox-large-'));
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  try {
    await using results = await ResultStore.open({ directory });
    const asked = Promise.withResolvers<void>();
    const minterOf = () => {
      asked.resolve();
      return new Promise<undefined>(() => {});
    };
    const call = { agent: 'rosa', requestId: '1', role: 'reader', tool: 'mcp_log__read' };
    const result = { content: [{ type: 'text', text: 'x'.repeat(20_000) }] };
    const deps = { results, minterOf, replies: new LargeSlices(() => 0) };
    const keeping = keepLarge(deps, call, { maxInlineBytes: 8192 }, { result });
    await asked.promise;
    vi.advanceTimersByTime(1_000);
    expect(await keeping).toMatchObject({ keptBytes: expect.any(Number) });
    expect(results.summary()).toMatchObject({ results: 1 });
  } finally {
    vi.useRealTimers();
    rmSync(directory, { recursive: true });
  }
});
