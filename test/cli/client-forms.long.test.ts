import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { expect, test } from 'vitest';
import { cleanEnv, jsonOf, signalboxArgv } from '../support/cli/command-line.ts';
import { startWorkspace } from '../support/cli/workspace.ts';
import type { OddCases } from '../support/worker/odd-server.ts';

const string = { type: 'string' };
const merged = {
  type: 'object',
  allOf: [
    { type: 'object', properties: { a: string }, required: ['a'] },
    { type: 'object', properties: { b: string } },
  ],
};
const either = {
  type: 'object',
  properties: { a: string, b: string },
  anyOf: [{ required: ['a'] }, { required: ['b'] }],
};
const anyList = { type: 'object', properties: { list: { type: 'array' } } };
const pair = {
  type: 'object',
  properties: { pair: { type: 'array', prefixItems: [string, { type: 'number' }], items: false } },
};
const servers = { merged, either, anyList, pair };

test('Claude, codex and gemini are shown a schema in a form that they read as it is meant, every other client the schema itself; calls are checked against the schema; status and doctor name what one of them does not show.', async () => {
  await using workspace = await startWorkspace(async (directory) => {
    const file = join(directory, 'results.json');
    const tools = Object.entries(servers).map(([name, inputSchema]) => [
      name,
      { name, inputSchema, _meta: { own: 1, 'signalbox/client_forms': { agent: { type: 'object' } } } },
    ]);
    const cases: OddCases = { results: {}, outcomes: {}, notes: {} };
    cases.results = {
      'tools/list': Object.fromEntries(tools),
      'tools/call': { '': { content: [{ type: 'text', text: 'called' }] } },
    };
    await writeFile(file, JSON.stringify(cases));
    const script = fileURLToPath(new URL('../support/worker/odd-server.ts', import.meta.url));
    const odd = { command: process.execPath, args: [script], env: { CASES_FILE: file } };
    const roles = { user: { tools: ['odd:*'], ask: ['odd:either'] } };
    return JSON.stringify({
      broker: { listen: '127.0.0.1:0', data: './state' },
      mcpServers: { odd },
      roles,
    });
  });
  const { env } = await workspace.agent('rosa', 'user');
  const seenBy = async (name: string) => {
    const client = new Client({ name, version: '1.0.0' });
    const args = signalboxArgv(['worker', 'mcp']);
    await client.connect(
      new StdioClientTransport({ command: process.execPath, args, stderr: 'ignore', env: cleanEnv(env) }),
    );
    const { tools } = await client.listTools();
    const call = (args: object) =>
      client.callTool({ name: 'mcp_odd__merged', arguments: args as Record<string, unknown> });
    const results = [await call({ a: 'x' }), await call({ b: 'x' })];
    await client.close();
    const schemas = Object.fromEntries(tools.map(({ name, inputSchema }) => [name, inputSchema]));
    return { tools, schemas, failed: results.map(({ isError = false }) => isError) };
  };
  const named = (changed: object) =>
    Object.fromEntries(
      Object.entries({ ...servers, ...changed }).map(([name, schema]) => [`mcp_odd__${name}`, schema]),
    );

  const other = await seenBy('agent');
  expect(other.schemas).toMatchObject(named({}));
  for (const { name, _meta } of other.tools.filter((tool) => tool.name.startsWith('mcp_odd__')))
    expect([name, Object.keys(_meta ?? {}).filter((key) => key !== 'signalbox/ask_deadline_ms')]).toEqual([
      name,
      ['own'],
    ]);
  const properties = { a: string, b: string };
  const claude = await seenBy('claude-code');
  expect(claude.schemas).toMatchObject(named({ merged: { type: 'object', properties, required: ['a'] } }));
  const codex = await seenBy('codex-mcp-client');
  const codexList = { type: 'object', properties: { list: { type: 'array', items: {} } } };
  const item = { anyOf: pair.properties.pair.prefixItems };
  const codexPair = { type: 'object', properties: { pair: { items: item, maxItems: 2 } } };
  expect(codex.schemas).toMatchObject(named({ anyList: codexList, pair: codexPair }));
  const gemini = await seenBy('gemini-cli-mcp-client-signalbox');
  const dated = { $schema: 'https://json-schema.org/draft/2020-12/schema', ...pair };
  expect(gemini.schemas).toMatchObject(named({ pair: dated }));
  for (const { failed } of [other, claude, codex, gemini]) expect(failed).toEqual([false, true]);

  const text = 'claude may not show 1 tool: mcp_odd__either (it has anyOf at the top)';
  const unshown = {
    client: 'claude',
    how: 'left out',
    why: 'it has anyOf at the top',
    tools: ['mcp_odd__either'],
    count: 1,
  };
  expect(jsonOf(await workspace.run(['servers', '--json']))).toMatchObject({
    servers: [{ unshown: [unshown] }],
  });
  expect((await workspace.run(['servers'])).stdout).toContain(`\nodd: ${text}\n`);
  expect((await workspace.run(['servers', 'show', 'odd'])).stdout).toContain(`\n  ! ${text}\n`);
  expect((await workspace.run(['doctor'])).stdout).toMatch(
    new RegExp(`odd is ready: 4 tools.*; ${text.replace(/[()]/g, '\\$&')}`),
  );
});
