import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { startToolStack, type ToolStack } from '../support/orchestrator/tool-stack.ts';
import { connectFace, type Era } from '../support/worker/mcp-client.ts';

/** The client's timeout in milliseconds, shortened from 60 s; the face's interval is shortened from 15 s. */
const timeoutMs = 400;
const heartbeatMs = 25;

/** The number of heartbeats that take longer than the client waits for a result. */
const beats = Math.ceil((timeoutMs * 1.2) / heartbeatMs);
const eras = ['legacy', 'modern'] as const;

/** Returns the steps that the counter server took for the calls with this label or file. */
function steps(stack: ToolStack, tool: string, mark: string): string[] {
  return stack
    .ran(tool)
    .filter(({ args }) => args.label === mark || args.file === mark)
    .map(({ at }) => at);
}

test('clients of both eras that give up soon get the result of a silent tool that takes longer, and others meanwhile', async () => {
  await using stack = await startToolStack();
  const outlast = async (era: Era) => {
    await using face = await connectFace(await stack.executor(era), { era, heartbeatMs, mailbox: false });
    const file = join(stack.directory, era);
    const gate = (options: Parameters<typeof face.call>[2]) =>
      face.call('mcp_counter__gate', { file }, { timeout: timeoutMs, ...options });
    // Without progress the same client gives the same call up, and the server is told.
    await expect(gate({})).rejects.toThrow(/timed out/i);
    await expect.poll(() => steps(stack, 'gate', file)).toEqual(['start', 'cancelled']);

    let heard = 0;
    const { promise: long, resolve: wasLong } = Promise.withResolvers<void>();
    const onprogress = () => {
      if (++heard === beats) wasLong();
    };
    const slow = gate({ resetTimeoutOnProgress: true, onprogress });
    await expect.poll(() => steps(stack, 'gate', file).length).toBe(3);
    for (const n of [1, 2, 3]) {
      expect(await face.call('mcp_counter__echo', { n })).toMatchObject({ structuredContent: { n } });
    }
    await long;
    expect(steps(stack, 'gate', file)).toEqual(['start', 'cancelled', 'start']);
    await writeFile(file, '');
    return await slow;
  };
  const results = await Promise.all(eras.map(outlast));
  expect(results.map(({ structuredContent }) => structuredContent)).toEqual([
    { highWater: expect.any(Number) },
    { highWater: expect.any(Number) },
  ]);
});

test('the abort of a client of either era reaches the server, and only the call it is for', async () => {
  await using stack = await startToolStack();
  for (const era of eras) {
    await using face = await connectFace(await stack.executor(era), { era, mailbox: false });
    const file = join(stack.directory, era);
    const abort = new AbortController();
    const aborted = face.call('mcp_counter__slow', { ms: 60_000, label: era }, { signal: abort.signal });
    const rejected = expect(aborted).rejects.toThrow();
    const kept = face.call('mcp_counter__gate', { file });
    await expect.poll(() => steps(stack, 'slow', era)).toEqual(['start']);
    await expect.poll(() => steps(stack, 'gate', file)).toEqual(['start']);
    const abortedAt = performance.now();
    abort.abort();
    await expect.poll(() => steps(stack, 'slow', era), { interval: 5 }).toEqual(['start', 'cancelled']);
    // A figure, not a verdict: a busy machine is late without being wrong. The aim is 1 s.
    const elapsedMs = Math.round(performance.now() - abortedAt);
    process.stdout.write(`an abort (${era}) reached the server after ${elapsedMs} ms\n`);
    await rejected;
    await writeFile(file, '');
    expect(await kept).toMatchObject({ structuredContent: { highWater: 1 } });
  }
});
