import { writeFile } from 'node:fs/promises';
import type { BrokerClient, RequestOutcome } from '@signalbox/client';
import { mcpReplySchema, type ToolCallError } from '@signalbox/protocol';
import { counterServer, tempDir } from '@signalbox/testing';
import { expect, test } from 'vitest';
import { startToolStack } from '../support/orchestrator/tool-stack.ts';

const count = 'mcp_counter__count';
const gate = 'mcp_counter__gate';

function callTool(client: BrokerClient, tool: string, args: unknown): Promise<RequestOutcome> {
  return client.request(
    'orchestrator',
    'mcp_request',
    { op: 'call', tool, arguments: args },
    { timeoutMs: 20_000 },
  );
}

function errorOf(outcome: RequestOutcome): ToolCallError | undefined {
  if (outcome.status !== 'completed') throw new Error(`the request ended ${outcome.status}`);
  const reply = mcpReplySchema.parse(outcome.reply.json);
  return 'error' in reply ? reply.error : undefined;
}

test('workers that flood the orchestrator fill their own queues only, and others are served meanwhile', async () => {
  await using stack = await startToolStack({ concurrency: { perServer: 32 } });
  const opener = `${stack.directory}/open`;
  const [one, two, modest] = await Promise.all(['one', 'two', 'modest'].map((agent) => stack.client(agent)));
  const answered: (ToolCallError | undefined)[] = [];
  const flood = [one!, two!].flatMap((client) =>
    Array.from({ length: 900 }, async () => {
      answered.push(errorOf(await callTool(client, gate, { file: opener })));
    }),
  );
  // Of each, 8 run and 64 wait. Were the rest kept, the inbox's window of 1024 would be full.
  await expect.poll(() => answered.length).toBe(2 * (900 - 8 - 64));
  expect(stack.orchestrator.inFlight).toBe(2 * (8 + 64));
  for (const error of answered.splice(0)) {
    expect(error).toMatchObject({ code: 'quota_exceeded', retryable: true, may_have_run: false });
    expect(error!.message).toContain('64 calls wait');
    expect(error!.retry_after_seconds).toBeGreaterThanOrEqual(1);
  }
  expect(await callTool(modest!, count, {})).toHaveProperty('reply.json.result.structuredContent', { n: 1 });
  expect(answered).toEqual([]);
  await writeFile(opener, '');
  await Promise.all(flood);
  expect(answered).toEqual(Array(2 * (8 + 64)).fill(undefined));
});

test('a worker with a long queue and one with a single call take turns on a busy server', async () => {
  await using stack = await startToolStack({ concurrency: { perServer: 1 } });
  const [greedy, modest] = await Promise.all(['greedy', 'modest'].map((agent) => stack.client(agent)));
  const opener = `${stack.directory}/open`;
  const long = Array.from({ length: 30 }, (_, n) =>
    callTool(greedy!, gate, { file: opener, who: 'greedy', n }),
  );
  await expect.poll(() => stack.orchestrator.inFlight).toBe(30);
  const short = [0, 1].map((n) => callTool(modest!, gate, { file: opener, who: 'modest', n }));
  await expect.poll(() => stack.orchestrator.inFlight).toBe(32);
  await writeFile(opener, '');
  await Promise.all([...long, ...short]);
  const starts = stack.ran('gate').filter(({ at }) => at === 'start');
  expect(starts.slice(0, 6).map(({ args }) => args.who)).toEqual([
    'greedy',
    'greedy',
    'modest',
    'greedy',
    'modest',
    'greedy',
  ]);
});

test('calls that wait for a slow server do not hold up calls to another one', async () => {
  await using elsewhere = await tempDir();
  await using stack = await startToolStack({
    concurrency: { global: 2, perServer: 1, perWorker: 2 },
    servers: { quick: counterServer(`${elsewhere.path}/quick.jsonl`) },
  });
  const worker = await stack.client('w1');
  const opener = `${stack.directory}/open`;
  const slow = [1, 2, 3].map(() => callTool(worker, gate, { file: opener }));
  await expect.poll(() => stack.orchestrator.inFlight).toBe(3);
  await expect.poll(() => stack.ran('gate')).toHaveLength(1);
  expect(errorOf(await callTool(worker, 'mcp_quick__count', {}))).toBeUndefined();
  expect(stack.ran('gate')).toHaveLength(1);
  await writeFile(opener, '');
  expect((await Promise.all(slow)).map(errorOf)).toEqual([undefined, undefined, undefined]);
});

test('eight large results of one worker take turns and all arrive, and small calls of another are answered', async () => {
  await using stack = await startToolStack();
  const [greedy, modest] = await Promise.all(['greedy', 'modest'].map((agent) => stack.client(agent)));
  const large = Array.from({ length: 8 }, (_, n) =>
    callTool(greedy!, 'mcp_counter__big', { bytes: 300_000 + n }),
  );
  const small = [1, 2, 3].map((n) => callTool(modest!, 'mcp_counter__echo', { n }));
  expect((await Promise.all([...large, ...small])).map(errorOf)).toEqual(Array(11).fill(undefined));
});
