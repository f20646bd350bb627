import { McpContentAllowlist } from '@signalbox/orchestrator';
import { expect, test } from 'vitest';
import { oddMcpContentServer } from '../support/mcp-host/test-servers.ts';
import { read, startKeepingStack, textsOf, tool, uriOf } from '../support/worker/kept-results.ts';
import type { McpClient } from '../support/worker/mcp-client.ts';

const rows = 'mcp_large__rows';

test('A role without the rule is shown results whole and knows nothing of kept ones; what is kept stays readable when the rule goes.', async () => {
  await using keeping = await startKeepingStack();
  await using plain = await keeping.client('walt', 'worker');
  expect(textsOf(await plain.call('mcp_large__text', { size: 50_000 }))[0]).toHaveLength(50_000);
  const namesFor = async (client: McpClient) => (await client.list()).map(({ name }) => name);
  expect(await namesFor(plain)).not.toContain(tool);
  const schemaFor = async (client: McpClient) =>
    (await client.list()).find(({ name }) => name === rows)?.outputSchema;
  expect(await schemaFor(plain)).not.toHaveProperty('anyOf');
  await using rosa = await keeping.client('rosa');
  expect(await namesFor(rosa)).toContain(tool);
  expect(await schemaFor(rosa)).toHaveProperty('anyOf');
  const uri = uriOf(await rosa.call('mcp_large__text', { size: 50_000 }));
  keeping.stack.orchestrator.setPolicy({ results: {} });
  await expect.poll(() => namesFor(rosa)).not.toContain(tool);
  expect(textsOf(await rosa.call('mcp_large__text', { size: 50_000 }))[0]).toHaveLength(50_000);
  expect(await read(rosa, { id: uri, offset: 49_990 })).toContain(`This is the end.\n${'x'.repeat(10)}`);
  expect(() => keeping.stack.orchestrator.setPolicy({ results: { reader: { maxInlineBytes: 10 } } })).toThrow(
    'roles.reader.results.maxInlineBytes',
  );
});

test('An answer to a read that no message takes is kept once however often it comes, ends with the right to read, and needs room.', async () => {
  await using keeping = await startKeepingStack(
    { servers: { odd: oddMcpContentServer() }, broker: { limits: { message: { bytes: 1_000_000 } } } },
    { limits: { results: 2 } },
  );
  const uri = 'odd://huge';
  await using rosa = await keeping.client('rosa');
  for (let reads = 0; reads < 2; reads++)
    expect(await rosa.request('resources/read', { uri })).toMatchObject({
      contents: [{ uri, text: 'x'.repeat(5_000_000) }],
    });
  expect(keeping.results.summary()).toMatchObject({ results: 1 });

  const client = await keeping.stack.client('walt');
  const ask = async (at: string) => {
    const body = { op: 'request', method: 'resources/read', params: { uri: at } };
    const outcome = await client.request('orchestrator', 'mcp_request', body, { timeoutMs: 30_000 });
    return (outcome as { reply: { json: Record<string, { uri: string; bytes: number }> } }).reply.json;
  };
  const { kept } = await ask(uri);
  expect(kept!.bytes).toBeGreaterThan(5_000_000);
  expect(await ask(kept!.uri)).toHaveProperty('data');
  const mcpContent = McpContentAllowlist.fromEntries([['worker', { resources: ['odd:odd://lasting'] }]]);
  keeping.stack.orchestrator.setPolicy({ mcpContent });
  expect(await ask(kept!.uri)).toMatchObject({ error: { code: 'not_found' } });
  await using nina = await keeping.client('nina');
  await expect(nina.request('resources/read', { uri })).rejects.toThrow(
    /can be delivered; it could not be kept for you either: of the 2 results/,
  );
});
