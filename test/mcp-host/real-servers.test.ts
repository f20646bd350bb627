import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { isMcpTool } from '@signalbox/mcp-host';
import { tempDir } from '@signalbox/testing';
import { expect, it } from 'vitest';
import { call, startTestHost } from '../support/mcp-host/test-host.ts';
import { npmServer } from '../support/mcp-host/test-servers.ts';
import { isRunning } from '../support/processes.ts';

it('lists the tools of several real servers under one roof and leaves no process behind', async () => {
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
