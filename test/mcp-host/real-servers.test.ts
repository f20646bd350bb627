import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { isMcpTool } from '@signalbox/mcp-host';
import { counterServer, tempDir } from '@signalbox/testing';
import { expect, it, vi } from 'vitest';
import { call, startTestHost } from '../support/mcp-host/test-host.ts';
import { npmServer } from '../support/mcp-host/test-servers.ts';
import { isRunning } from '../support/processes.ts';

it('offers the tools of several real servers under one roof and leaves no process behind', async () => {
  await using dir = await tempDir();
  await writeFile(join(dir.path, 'note.txt'), 'hello from disk');
  const memoryFile = join(dir.path, 'memory.jsonl');
  const host = startTestHost({
    servers: {
      everything: npmServer('everything'),
      'File System': npmServer('filesystem', dir.path),
      memory: { ...npmServer('memory'), env: { MEMORY_FILE_PATH: memoryFile } },
    },
  });
  try {
    const { tools, problems } = await host.inventory();
    expect(problems).toEqual([]);
    expect(tools.every(({ name }) => isMcpTool(name) && name.length <= 47)).toBe(true);

    const path = join(dir.path, 'note.txt');
    expect(await call(host, 'mcp_file_system__read_text_file', { path })).toEqual({
      result: {
        content: [{ type: 'text', text: 'hello from disk' }],
        structuredContent: { content: 'hello from disk' },
      },
    });
    expect(await call(host, 'mcp_everything__get-sum', { a: 2, b: 3 })).toMatchObject({
      result: { content: [{ text: 'The sum of 2 and 3 is 5.' }] },
    });
    const entities = [{ name: 'a', entityType: 't', observations: ['o'] }];
    expect(await call(host, 'mcp_memory__create_entities', { entities })).toHaveProperty('result');
    expect(host.servers().map(({ name, state }) => [name, state])).toEqual([
      ['everything', 'ready'],
      ['File System', 'ready'],
      ['memory', 'ready'],
    ]);
  } finally {
    const pids = host.servers().map(({ pid }) => pid!);
    await host.close();
    expect(pids.filter(isRunning)).toEqual([]);
    expect(host.servers().map(({ state }) => state)).toEqual(['stopped', 'stopped', 'stopped']);
  }
});

it('passes on an error of the tool as its result, and a refusal of the arguments as an error', async () => {
  await using dir = await tempDir();
  await using host = startTestHost({ servers: { fs: npmServer('filesystem', dir.path) } });
  await host.inventory();
  expect(await call(host, 'mcp_fs__read_text_file', { path: '/no/such/file' })).toMatchObject({
    result: { isError: true, content: [{ type: 'text' }] },
  });
  expect(await call(host, 'mcp_fs__no_such_tool')).toEqual({
    error: {
      code: 'tool_not_found',
      category: 'permanent',
      message: expect.any(String),
      retryable: false,
      may_have_run: false,
    },
  });
});

it('reports progress of a running call, and only of that one', async () => {
  await using host = startTestHost({ servers: { everything: npmServer('everything') } });
  await host.inventory();
  const seen: Record<string, number[]> = { a: [], b: [] };
  const run = (label: string, steps: number) =>
    call(
      host,
      'mcp_everything__trigger-long-running-operation',
      { duration: 0.2, steps },
      { onProgress: ({ progress, total }) => seen[label]!.push(progress, total!) },
    );
  await Promise.all([run('a', 2), run('b', 3)]);
  expect(seen.a!.slice(0, 2)).toEqual([1, 2]);
  expect(seen.b!.slice(0, 4)).toEqual([1, 3, 2, 3]);
});

it('runs the calls of one server side by side', async () => {
  await using dir = await tempDir();
  await using host = startTestHost({ servers: { counter: counterServer(join(dir.path, 'count')) } });
  await host.inventory();
  const calls = Array.from({ length: 8 }, () => call(host, 'mcp_counter__gate', { calls: 8 }));
  for (const outcome of await Promise.all(calls)) {
    expect(outcome).toMatchObject({ result: { structuredContent: { highWater: 8 } } });
  }
  expect(host.servers()[0]!.inFlight).toBe(0);
});

it('counts the calls under way', async () => {
  await using dir = await tempDir();
  await using host = startTestHost({ servers: { counter: counterServer(join(dir.path, 'count')) } });
  await host.inventory();
  const file = join(dir.path, 'open');
  const calls = Array.from({ length: 3 }, () => call(host, 'mcp_counter__gate', { file }));
  await vi.waitFor(() => expect(host.servers()[0]!.inFlight).toBe(3));
  await writeFile(file, '');
  await Promise.all(calls);
  expect(host.servers()[0]!.inFlight).toBe(0);
});
