import type { Client } from '@modelcontextprotocol/client';
import { RoleToolAllowlist } from '@signalbox/orchestrator';
import { openSqliteJournal } from '@signalbox/store/journal';
import { tempDir } from '@signalbox/testing';
import { McpProxyExecutor } from '@signalbox/worker';
import { expect, test } from 'vitest';
import { read, startKeepingStack, textsOf, tool, uriOf } from '../support/worker/kept-results.ts';

const rows = 'mcp_large__rows';

type Definition = NonNullable<NonNullable<Parameters<Client['callTool']>[1]>['toolDefinition']>;
const line = (at: number) => `line ${at} größe ${(at - 1) % 7}`;

test('A large result is shown as a preview that strict clients accept, and read in parts, in both eras and at both faces.', async () => {
  await using keeping = await startKeepingStack();
  for (const connected of [await keeping.client('rosa'), await keeping.stdio('walt')]) {
    await using client = connected;
    const toolDefinition = (await client.list()).find(({ name }) => name === rows) as Definition;
    // The SDK compares structuredContent with the schema of the list, and rejects what does not fit.
    const strict = (size: number) =>
      client.client.callTool({ name: rows, arguments: { size } }, { toolDefinition });
    expect(await strict(3)).toMatchObject({
      structuredContent: { rows: [{ at: 0 }, { at: 1 }, { at: 2 }] },
      _meta: { 'vendor/own': 'kept' },
    });
    // Many clients show a model only the content, which this server leaves empty.
    expect(textsOf(await client.call('mcp_large__values', { size: 2 }))).toEqual(['[0,0]']);
    const preview = await strict(20_000);
    expect(preview.isError).toBeUndefined();
    const uri = uriOf(preview);
    expect(preview).toMatchObject({
      content: [{}, { text: expect.stringMatching(/^line 1 größe 0\n.*line 20 größe 5\n$/s) }],
      structuredContent: { signalbox_kept_result: { uri } },
      _meta: { 'vendor/own': 'kept' },
    });
    const id = uri.slice(-22);
    const part = await read(client, { id, line: 15_000, lines: 2 });
    expect(part).toMatch(/^Lines 15000 to 15001 of \d+, bytes/);
    expect(part).toContain(`\n15000\t${line(15_000)}\n15001\t${line(15_001)}`);
    expect(await read(client, { id: uri, search: 'LINE 19999 ', ignore_case: true, context: 1 })).toBe(
      `1 match in a text of ${/of (\d+)/.exec(part)![1]} lines; > marks them.\n` +
        `  19998: ${line(19_998)}\n> 19999: ${line(19_999)}\n  20000: ${line(20_000)}`,
    );
    expect(await read(client, { id, part: 'json', offset: 0, bytes: 12 })).toMatch(/\n\{"content":\[$/);
    expect(await client.call(tool, { id, block: 1 })).toMatchObject({
      content: [{ type: 'image', mimeType: 'image/png', data: 'AAAA'.repeat(20_000) }],
    });
    expect(await client.request('resources/read', { uri: `${uri}?search=nowhere` })).toMatchObject({
      contents: [{ text: "No match for 'nowhere'." }],
    });
    for (const [args, problem] of [
      [{ id: 'x' }, 'it must be that of a preview'],
      [{ id, line: 1, offset: 1 }, "'offset' does not go with"],
      [{ id, block: 0 }, 'there is no content block 0'],
      [{ id, lines: 0 }, "'lines' must be"],
    ] as const)
      expect(await read(client, args)).toContain(problem);
  }
});

test('The parts of a result that was read as a resource are all of it, and so is its JSON.', async () => {
  await using keeping = await startKeepingStack();
  await using client = await keeping.client('rosa');
  const uri = uriOf(await client.call('mcp_large__log', { size: 3000 }));
  const whole = Array.from({ length: 3000 }, (_, at) => `${line(at + 1)}\n`).join('');
  const readAll = async (from: string) => {
    const texts: string[] = [];
    for (let at: string | undefined = from; at !== undefined; ) {
      const answer: Record<string, unknown> = await client.request('resources/read', { uri: at });
      const [first, more] = answer.contents as { uri: string; text: string }[];
      texts.push(first!.text);
      // A client that does not read `_meta` is told about the rest, too.
      expect((answer._meta as Record<string, { next?: string }>)['signalbox/range']!.next).toBe(more?.uri);
      at = more?.uri;
    }
    return texts;
  };
  const texts = await readAll(uri);
  expect(texts.length).toBeGreaterThan(3);
  expect(texts.join('')).toBe(whole);
  expect(JSON.parse((await readAll(`${uri}/json`)).join(''))).toEqual({
    content: [{ type: 'text', text: whole }],
  });
});

test('Nobody else reads a result: not another agent, nor the same one in a role that may not call its tool.', async () => {
  const allowlist = RoleToolAllowlist.fromEntries([
    ['reader', ['mcp_large__*']],
    ['writer', ['mcp_large__text']],
    ['auditor', ['mcp_large__log']],
  ]);
  await using keeping = await startKeepingStack({ allowlist });
  await using rosa = await keeping.client('rosa');
  const uri = uriOf(await rosa.call('mcp_large__log', { size: 3000 }));
  const ask = async (agent: string, role: string, at = uri) => {
    const { url, token: tokenFor, operatorToken } = keeping.stack.broker;
    const token = await (role === 'operator' ? operatorToken() : tokenFor(agent, role));
    await using executor = await McpProxyExecutor.connect({ url, token, agent });
    const body = { op: 'request', method: 'resources/read', params: { uri: at } } as const;
    return await executor.ask(body);
  };
  expect((await ask('rosa', 'auditor')).result).toHaveProperty('contents');
  const missing = uri.replace(/.{22}$/, 'A'.repeat(22));
  const { error } = await ask('rosa', 'reader', missing);
  expect(error).toMatchObject({ code: 'not_found', may_have_run: false });
  for (const [agent, role] of [
    ['walt', 'reader'],
    ['rosa', 'writer'],
    ['operator', 'operator'],
  ] as const) {
    const refused = (await ask(agent, role)).error!;
    // Another agent's result looks like one that never existed.
    expect(JSON.stringify(refused).replace(uri.slice(-22), 'A'.repeat(22))).toBe(JSON.stringify(error));
  }
});

test('A call whose result is kept has ended, also if the orchestrator died before it wrote that down.', async () => {
  await using directory = await tempDir();
  await using journal = await openSqliteJournal({ file: `${directory.path}/journal.db` });
  await using keeping = await startKeepingStack({ journal });
  const executor = await keeping.stack.executor('rosa', 'reader');
  const times = { receivedAt: 1, startedAt: 1, lifetimeMs: 60_000 };
  const start = (requestId: string) =>
    journal.start({ agent: 'rosa', requestId, role: 'reader', tool: 'mcp_large__log', inbox: '-', ...times });
  const call = { name: 'mcp_large__log', arguments: { size: 1 } };
  await start('lost');
  expect(await executor.execute(call, { requestId: 'lost' })).toMatchObject({
    error: { code: 'outcome_unknown' },
  });
  await start('kept');
  const whole = { content: [{ type: 'text', text: line(1).repeat(5000) }] };
  const key = { agent: 'rosa', requestId: 'kept', role: 'reader', tool: 'mcp_large__log' };
  const kept = await keeping.results.keep(key, whole);
  const { result } = await executor.execute(call, { requestId: 'kept' });
  expect(kept).toMatchObject({ preview: { content: result!.content } });
  expect((await journal.find(key))?.end).toMatchObject({ outcome: 'ok' });
});

test('Where there is no room, a result is shown whole and says why; one that no message takes is refused with both reasons.', async () => {
  await using keeping = await startKeepingStack(
    { broker: { limits: { message: { bytes: 200_000 } } } },
    { limits: { bytesPerAgent: 300_000 } },
  );
  await using rosa = await keeping.client('rosa');
  const text = (size: number) => rosa.call('mcp_large__text', { size });
  const kept = uriOf(await text(60_000));
  const [whole, why] = textsOf(await text(100_000));
  expect(whole).toHaveLength(100_000);
  expect(why).toContain('300,000 bytes are kept for this agent at most');
  const [data, note] = textsOf(await rosa.call('mcp_large__values', { size: 40_000 }));
  expect(JSON.parse(data!)).toHaveLength(40_000);
  expect(note).toContain('of 80,036 bytes is shown whole');
  expect(await text(300_000)).toMatchObject({
    isError: true,
    content: [
      {
        text: expect.stringMatching(/^result_too_large: .*; it could not be kept .* than the 300,000 bytes/),
      },
    ],
  });
  expect(await read(rosa, { id: kept, offset: 59_999 })).toContain('\nx');
  expect(keeping.results.summary()).toMatchObject({ results: 1 });
});
