import { writeFile } from 'node:fs/promises';
import type { ToolProvider } from '@signalbox/mcp-host/tool-calls';
import { bodyLimits } from '@signalbox/protocol';
import { openSqliteJournal } from '@signalbox/store/journal';
import { tempDir } from '@signalbox/testing';
import { expect, test } from 'vitest';
import { ask, callError } from '../support/orchestrator/requests.ts';
import { startToolStack } from '../support/orchestrator/tool-stack.ts';

const gate = 'mcp_counter__gate';
const echo = 'mcp_counter__echo';
const text = (length: number) => ({ text: 'x'.repeat(length) });
const values = (count: number) => ({ list: Array(count).fill(1) });

const tools = [
  { name: 'count-up', inputSchema: { type: 'object' as const, properties: { list: { type: 'array' } } } },
];
/** A source of a tool that takes a list, also one that is written as text. */
const provider: ToolProvider = {
  name: 'lists',
  tools: () => tools,
  problems: () => [],
  secrets: () => [],
  call: async (_tool, args) => ({ result: { content: [], structuredContent: args } }),
  onChanged: () => () => {},
};

test('requests that wait or run count by their bytes and values, for each worker and for all, until they are answered', async () => {
  await using stack = await startToolStack({
    sizes: { bytesPerWorker: 10_000, bytes: 24_000, nodesPerWorker: 1_000 },
    providers: [provider],
  });
  const [wim, eva, uwe] = await Promise.all(['wim', 'eva', 'uwe'].map((name) => stack.client(name)));
  const opener = `${stack.directory}/open`;
  const held = [callError(wim!, gate, { file: opener, ...text(8_000) })];
  await expect.poll(() => stack.ran('gate').length).toBe(1);
  expect(await callError(wim!, echo, text(8_000))).toMatchObject({
    code: 'quota_exceeded',
    retryable: true,
    may_have_run: false,
    retry_after_seconds: 1,
    message: "the requests of 'wim' that wait or run may have 10000 bytes, and this one would be more",
    hint: expect.stringContaining('orchestrator.limits.calls.bytesPerWorker'),
  });
  expect(await callError(wim!, echo, text(1_000))).toBeUndefined();
  held.push(callError(eva!, gate, { file: opener, ...text(8_000) }));
  await expect.poll(() => stack.ran('gate').length).toBe(2);
  // Of 24,000 bytes, some 8,000 are left, and a worker may hold as much as is left for others.
  expect(await callError(uwe!, echo, text(8_500))).toMatchObject({
    code: 'quota_exceeded',
    hint: expect.stringContaining('orchestrator.limits.calls.bytes.'),
  });
  expect(await callError(uwe!, echo, text(4_000))).toBeUndefined();

  for (const args of [values(1_200), JSON.stringify(values(1_200))]) {
    expect(await ask(uwe!, { op: 'call', tool: echo, arguments: args })).toMatchObject({
      error: {
        code: 'invalid_arguments',
        retryable: false,
        message: 'the request has more than 1000 JSON values and names',
        hint: expect.stringContaining('orchestrator.limits.calls.nodesPerWorker'),
      },
    });
  }
  // The list that a text becomes counts, too.
  const written = (count: number) => ({ list: JSON.stringify(values(count).list) });
  expect(await callError(uwe!, 'count-up', written(1_200))).toMatchObject({
    message: 'the request has more than 1000 JSON values and names',
  });
  expect(await callError(uwe!, 'count-up', written(900))).toBeUndefined();
  expect(await callError(uwe!, echo, values(900))).toBeUndefined();
  const many = { list: Array(bodyLimits.maxNodes).fill({}) };
  expect(await callError(uwe!, echo, many)).toMatchObject({
    code: 'invalid_arguments',
    message: expect.stringContaining(`more than ${bodyLimits.maxNodes} values and names`),
  });

  await writeFile(opener, '');
  expect(await Promise.all(held)).toEqual([undefined, undefined]);
  expect(await callError(wim!, echo, text(8_000))).toBeUndefined();
  await expect.poll(() => stack.orchestrator.inFlight).toBe(0);
});

test('a large request that has its answer in the journal gets it, although there is no room', async () => {
  await using directory = await tempDir();
  await using journal = await openSqliteJournal({ file: `${directory.path}/journal.db` });
  await using stack = await startToolStack({ journal, sizes: { bytesPerWorker: 3_000 } });
  const client = await stack.client('wim');
  const key = { agent: 'wim', requestId: 'done' };
  const now = Date.now();
  const times = { receivedAt: now, startedAt: now, expiresAt: now + 60_000, lifetimeMs: 60_000 };
  await journal.start({ ...key, inbox: 'b orchestrator', role: 'worker', tool: echo, ...times });
  const reply = { result: { content: [{ type: 'text', text: 'ran before' }] } };
  await journal.finish(key, { outcome: 'ok', finishedAt: now, reply: JSON.stringify(reply) });
  const body = { op: 'call', tool: echo, arguments: text(8_000) };
  const answers = ['done', 'new'].map((id) =>
    client.request('orchestrator', 'mcp_request', body, { id, timeoutMs: 20_000 }),
  );
  expect(await Promise.all(answers)).toMatchObject([
    { reply: { json: reply } },
    { reply: { json: { error: { code: 'invalid_arguments', may_have_run: false } } } },
  ]);
  expect(stack.ran('echo')).toEqual([]);
});
