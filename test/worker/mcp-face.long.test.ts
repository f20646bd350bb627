import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { programOptions, tempDir } from '@signalbox/testing';
import { expect, test } from 'vitest';
import { nonstandardServer, toolNamed } from '../support/mcp-host/test-servers.ts';
import { startToolStack } from '../support/orchestrator/tool-stack.ts';
import { connectFace } from '../support/worker/mcp-client.ts';

test.each(['legacy', 'modern'] as const)(
  'fields that nobody on the way knows leave the face for a %s client',
  async (era) => {
    await using directory = await tempDir();
    const listFile = join(directory.path, 'list.json');
    const tool = toolNamed('vendor', {
      'x-vendor': [1],
      annotations: { readOnlyHint: true, 'x-hint': 1 },
      _meta: { 'vendor/id': 7 },
    });
    await writeFile(listFile, JSON.stringify({ pages: [[tool]] }));
    await using stack = await startToolStack({ servers: { odd: nonstandardServer(listFile) } });
    await using connection = await connectFace(await stack.executor('w1'), { era, mailbox: false });
    const listed = (await connection.list()).find(({ name }) => name === 'mcp_odd__vendor');
    expect(listed).toEqual({ ...tool, name: 'mcp_odd__vendor' });
    const own = ['not', 'an', 'object'];
    // The face's output is checked, not the client's result: a modern SDK client refuses blocks of a type that it does not know.
    await connection.call('mcp_odd__vendor').catch(() => {});
    expect(connection.written.at(-1)).toHaveProperty('result');
    expect(Object(connection.written.at(-1)).result).toMatchObject({
      content: [
        { type: 'vendor/chart', data: [1, 2] },
        { type: 'text', text: 'x', 'x-mark': 1 },
      ],
      // Earlier revisions allow objects only; the SDK wraps other values for them.
      structuredContent: era === 'modern' ? own : { result: own },
      'x-vendor': { deep: [null] },
      _meta: { 'vendor/trace': 'abc' },
    });
  },
);

test("the server's progress reaches a client that asked for it, and signs of life fill the gaps", async () => {
  await using stack = await startToolStack();
  await using connection = await connectFace(await stack.executor('w1'), {
    heartbeatMs: 100,
    mailbox: false,
  });
  const progress: { progress: number; message?: string }[] = [];
  const beside: string[] = [];
  await Promise.all([
    connection.call(
      'mcp_counter__slow',
      { ms: 1_200 },
      { onprogress: (one) => progress.push({ progress: one.progress, message: one.message ?? '' }) },
    ),
    connection.call(
      'mcp_counter__slow',
      { ms: 600, label: ' of another call' },
      { onprogress: ({ message = '' }) => beside.push(message) },
    ),
  ]);
  expect(beside.filter((message) => message.startsWith('step'))).toEqual(
    [1, 2, 3].map((step) => `step ${step} of another call`),
  );
  const messages = progress.map((one) => one.message);
  expect(messages.filter((message) => message?.startsWith('step'))).toEqual(['step 1', 'step 2', 'step 3']);
  expect(messages.filter((message) => message?.startsWith('still running')).length).toBeGreaterThan(2);
  const numbers = progress.map((one) => one.progress);
  expect(numbers).toEqual([...new Set(numbers)].sort((a, b) => a - b));
});

test('a client that hangs up ends the face and cancels nothing: the next process of the agent gets the result', async () => {
  await using stack = await startToolStack();
  const executor = await stack.executor('w1');
  await using connection = await connectFace(executor);
  const call = connection.call('mcp_counter__slow', { ms: 1_500 }).catch((thrown: Error) => thrown);
  await expect.poll(() => stack.ran('slow').length).toBe(1);
  await connection.client.close();
  await connection.face.closed;
  await executor.close();
  expect(await call).toBeInstanceOf(Error);
  await using next = await connectFace(await stack.executor('w1'));
  const listed = await next.call('signalbox_call_result', {});
  const [{ call_id, state }] = (listed.structuredContent as { calls: [{ call_id: string; state: string }] })
    .calls;
  expect(state).toBe('running');
  const result = await next.call('signalbox_call_result', { call_id });
  expect(result.isError).not.toBe(true);
  expect(stack.ran('slow').map((line) => line.at)).toEqual(['start', 'end']);
});

const faceMain = fileURLToPath(new URL('../support/worker/face-main.ts', import.meta.url));

test('an SDK client that spawns the face over stdio lists and calls', async () => {
  await using stack = await startToolStack();
  const token = await stack.broker.token('w1');
  const args = [...programOptions(), faceMain, stack.broker.url, token, 'w1'];
  const transport = new StdioClientTransport({ command: process.execPath, args });
  const client = new Client({ name: 'agent', version: '1.0.0' });
  await client.connect(transport);
  const { tools } = await client.listTools();
  expect(tools.filter(({ name }) => name.startsWith('mcp_counter__'))).toHaveLength(6);
  const result = await client.callTool({ name: 'mcp_counter__echo', arguments: { n: 1 } });
  expect(result.structuredContent).toEqual({ n: 1 });
  await client.close();
});
