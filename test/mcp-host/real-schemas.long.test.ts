import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { compileArgumentCheck } from '@signalbox/mcp-host/argument-check';
import type { Tool } from '@signalbox/protocol';
import { tempDir } from '@signalbox/testing';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { call, startTestHost, type TestHost } from '../support/mcp-host/test-host.ts';
import { npmServer } from '../support/mcp-host/test-servers.ts';

let dir: Awaited<ReturnType<typeof tempDir>>;
let host: TestHost;
let tools: Tool[];

beforeAll(async () => {
  dir = await tempDir();
  host = startTestHost({
    servers: {
      everything: npmServer('everything'),
      fs: npmServer('filesystem', dir.path),
      memory: { ...npmServer('memory'), env: { MEMORY_FILE_PATH: join(dir.path, 'memory.jsonl') } },
    },
  });
  ({ tools } = await host.inventory());
});

afterAll(async () => {
  await host.close();
  await dir[Symbol.asyncDispose]();
});

interface Simple {
  type?: string;
  enum?: string[];
  minimum?: number;
  properties?: Record<string, Simple>;
  items?: Simple;
}

/** A value such a schema accepts; these servers use no more of JSON Schema than this. */
function sample({ type, enum: values, minimum, properties = {}, items = {} }: Simple): unknown {
  if (values) return values[0];
  switch (type) {
    case 'object':
      return Object.fromEntries(Object.entries(properties).map(([name, each]) => [name, sample(each)]));
    case 'array':
      return [sample(items), sample(items)];
    case 'boolean':
      return true;
    case 'number':
      return minimum ?? 7;
    default:
      return 'text';
  }
}

it('checks every tool of the real servers, and passes what fits unchanged', () => {
  expect(tools.length).toBeGreaterThan(30);
  for (const tool of tools) {
    const check = compileArgumentCheck(tool.inputSchema);
    expect([tool.name, check.problem, check.unchecked]).toEqual([tool.name, undefined, []]);
    const args = sample(tool.inputSchema as Simple) as Record<string, unknown>;
    expect(check.check(args)).toEqual({ args, coerced: [] });
  }
});

it('refuses a wrong type in every parameter of every tool and the lack of every required one, all at once', () => {
  for (const tool of tools) {
    const { properties = {}, required = [] } = tool.inputSchema as Simple & { required?: string[] };
    const check = compileArgumentCheck(tool.inputSchema);
    const wrong = Object.fromEntries(
      Object.entries(properties).map(([name, { type }]) => [name, type === 'object' ? [{}] : { wrong: [] }]),
    );
    const checked = check.check(wrong);
    const message = 'error' in checked ? checked.error.message : '';
    for (const name of Object.keys(properties)) expect(message).toContain(`/${name} must be`);
    const lacking = check.check({});
    const { message: lack = '', hint = '' } = 'error' in lacking ? lacking.error : {};
    for (const name of required) {
      expect(lack).toContain(`/${name} is missing`);
      expect(hint).toMatch(new RegExp(`${name}: [^,]+.*\\(required\\)`));
    }
  }
});

it('sends a real server what it asks for where a model wrote it as text', async () => {
  const path = join(dir.path, 'note.txt');
  await writeFile(path, 'one\ntwo\nthree\n');
  expect(await call(host, 'mcp_everything__get-sum', { a: '2', b: 3 })).toMatchObject({
    result: { content: [{ text: 'The sum of 2 and 3 is 5.' }] },
  });
  expect(await call(host, 'mcp_fs__read_text_file', { path, head: '1' })).toMatchObject({
    result: { content: [{ text: 'one' }] },
  });
  const edits = '[{"oldText": "two", "newText": "2"}]';
  expect(await call(host, 'mcp_fs__edit_file', { path, edits, dryRun: 'true' })).toMatchObject({
    result: { content: [{ text: expect.stringContaining('+2') }] },
  });
  await host.seen('arguments_coerced', { server: 'fs' }, 2);
  expect(
    host.events.filter(({ event }) => event === 'arguments_coerced').map(({ pointers }) => pointers),
  ).toEqual([['/a'], ['/head'], ['/edits', '/dryRun']]);
});

it('answers wrong arguments itself, in words that a model can act on', async () => {
  const before = host.servers().find(({ name }) => name === 'fs')!.calls;
  const outcome = await call(host, 'mcp_fs__edit_file', {
    file_path: 'a',
    edits: [{ oldText: 5, newText: [] }],
  });
  expect(outcome).toMatchObject({
    error: { code: 'invalid_arguments', may_have_run: false, retryable: false },
  });
  const { error } = outcome as { error: { message: string; hint: string } };
  expect(error.message).toContain('/path is missing');
  expect(error.message).toContain('/edits/0/newText must be a string, is an array of 0');
  expect(error.hint).toContain(
    'path: string (required), edits: array of object {oldText: string (required), newText: string (required)} (required), dryRun: boolean',
  );
  expect(host.servers().find(({ name }) => name === 'fs')!.calls).toBe(before);
});
