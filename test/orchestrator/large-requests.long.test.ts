import { counterServer, startChild, tempDir } from '@signalbox/testing';
import { expect, test } from 'vitest';
import { callError } from '../support/orchestrator/requests.ts';
import { startToolStack } from '../support/orchestrator/tool-stack.ts';

const gate = 'mcp_counter__gate';

test('a worker that calls with 3.7 MiB eight times at once is refused, and calls of another to another server are served', async () => {
  await using elsewhere = await tempDir();
  await using stack = await startToolStack({
    servers: { quick: counterServer(`${elsewhere.path}/quick.jsonl`) },
  });
  const honest = await stack.client('honest');
  const caller = new URL('../support/orchestrator/greedy-caller-main.ts', import.meta.url);
  let outcomes: Record<string, number> = {};
  await using _greedy = await startChild(caller, {
    args: [stack.broker.url, await stack.broker.tokenOf('greedy', 'worker'), gate],
    onMessage: (message) => {
      outcomes = message as typeof outcomes;
    },
  });
  const idleMiB = process.memoryUsage.rss() / 2 ** 20;
  let mostMiB = idleMiB;
  const times: number[] = [];
  // The calls with one long text wait in the gate: no more than four of them fit into the room of one worker.
  while (times.length < 20 || !(outcomes.quota_exceeded! >= 1) || !(outcomes.invalid_arguments! >= 3)) {
    const startedAt = performance.now();
    expect(await callError(honest, 'mcp_quick__echo', { n: times.length })).toBeUndefined();
    times.push(performance.now() - startedAt);
    mostMiB = Math.max(mostMiB, process.memoryUsage.rss() / 2 ** 20);
  }
  times.sort((a, b) => a - b);
  process.stdout.write(
    `Calls of 3.7 MiB: ${JSON.stringify(outcomes)}, an honest call took ${times[times.length >> 1]!.toFixed(0)} ms (p50), ${times.at(-1)!.toFixed(0)} ms (worst of ${times.length}), RSS ${idleMiB.toFixed(0)} MiB idle, ${mostMiB.toFixed(0)} MiB at most, broker and tests included\n`,
  );
  expect(stack.ran('gate').length).toBeLessThanOrEqual(4);
  expect(mostMiB).toBeLessThan(1024);
});
