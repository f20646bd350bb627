import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Inventory } from '@signalbox/mcp-host';
import { openSqliteJournal } from '@signalbox/orchestrator';
import { explanationSchema } from '@signalbox/protocol';
import { tempDir } from '@signalbox/testing';
import { expect, test } from 'vitest';
import { call, startTestHost, type TestHost } from '../support/mcp-host/test-host.ts';
import { nonstandardServer, toolNamed } from '../support/mcp-host/test-servers.ts';
import { ask, askData } from '../support/orchestrator/requests.ts';
import { startToolStack } from '../support/orchestrator/tool-stack.ts';

/** A server whose tools are what a file says, with these annotations of the tools `exit` and `fail` at first. */
async function changingServer(annotations: object) {
  const directory = await tempDir();
  const file = join(directory.path, 'list.json');
  const list = async (next: object) => {
    const tools = [
      toolNamed('announce'),
      ...['exit', 'fail'].map((name) => toolNamed(name, { annotations: next })),
    ];
    await writeFile(file, JSON.stringify({ pages: [tools] }));
  };
  await list(annotations);
  return {
    list,
    config: nonstandardServer(file),
    path: directory.path,
    [Symbol.asyncDispose]: () => directory[Symbol.asyncDispose](),
  };
}

const hintsOf = ({ tools }: Inventory) => tools.find(({ name }) => name === 'mcp_odd__exit')?.annotations;
const lost = ({ events }: TestHost) => events.filter(({ event }) => event === 'server_lost').length;

test('a hint that grants more is withheld until the reload, also after a crash; one that grants less counts at once', async () => {
  await using server = await changingServer({ destructiveHint: true });
  await using host = startTestHost({ servers: { odd: server.config } });
  await host.inventory();
  const widened = { readOnlyHint: true, destructiveHint: false };
  await server.list(widened);
  await call(host, 'mcp_odd__announce');
  const reason =
    'its server now declares readOnlyHint: true and destructiveHint: false, which is not honoured until the server is reloaded';
  expect(await host.seen('tool_problem', { tool: 'exit' })).toMatchObject({ server: 'odd', reason });
  expect(hintsOf(await host.inventory())).toEqual({ readOnlyHint: false, destructiveHint: true });

  // A call that may be repeated would be made a second time, and the server would be lost twice.
  expect(await call(host, 'mcp_odd__exit')).toMatchObject({ error: { code: 'outcome_unknown' } });
  await host.seen('server_ready', { server: 'odd' }, 2);
  expect(lost(host)).toBe(1);
  expect(hintsOf(await host.inventory())).toEqual({ readOnlyHint: false, destructiveHint: true });
  expect(host.servers()[0]?.toolProblems).toContainEqual({ tool: 'exit', message: reason });
  expect(host.route('mcp_odd__exit').target?.withheld).toEqual(['readOnlyHint', 'destructiveHint']);

  await host.reload('odd');
  expect(hintsOf(await host.inventory())).toEqual(widened);
  expect(host.servers()[0]?.toolProblems).toEqual([]);
  expect(await call(host, 'mcp_odd__exit')).toMatchObject({ error: { code: 'mcp_server_unreachable' } });
  expect(lost(host)).toBe(3);

  const narrowed = Promise.withResolvers<Inventory>();
  host.onInventoryChanged(narrowed.resolve);
  await server.list({ destructiveHint: true });
  await call(host, 'mcp_odd__announce');
  expect(hintsOf(await narrowed.promise)).toEqual({ destructiveHint: true });
});

test('a call that was started while its tool was unsafe is repeated by the word of the operator only', async () => {
  await using server = await changingServer({ idempotentHint: true });
  await using journal = await openSqliteJournal({ file: join(server.path, 'journal.db') });
  for (const requestId of ['by_hint', 'by_word']) {
    const times = { receivedAt: Date.now(), startedAt: Date.now() };
    const life = { inbox: 'b-1 orchestrator', lifetimeMs: 60_000 };
    const tool = 'mcp_odd__fail';
    await journal.start({ agent: 'rosa', requestId, role: 'worker', tool, server: 'odd', ...times, ...life });
  }
  await using stack = await startToolStack({ journal, servers: { odd: server.config }, counter: false });
  await using rosa = await stack.executor('rosa');
  const make = (requestId: string) => rosa.execute({ name: 'mcp_odd__fail' }, { requestId });
  expect(await make('by_hint')).toMatchObject({ error: { code: 'outcome_unknown' } });
  expect(await make('never_started')).toMatchObject({ result: { isError: true } });
  stack.orchestrator.setPolicy({ repeat: { safe: ['mcp_odd__fail'] } });
  expect(await make('by_word')).toMatchObject({ result: { isError: true } });
});

test('explain and the report of the server name the hints that are withheld, and workers see the honoured ones', async () => {
  await using server = await changingServer({});
  await using stack = await startToolStack({ servers: { odd: server.config }, counter: false });
  await stack.host.inventory();
  await using operator = await stack.client('operator', 'operator');
  const explain = () =>
    askData(operator, { op: 'explain', role: 'worker', tool: 'mcp_odd__exit' }, explanationSchema);
  expect(await explain()).not.toHaveProperty('withheld');
  await server.list({ idempotentHint: true });
  const changed = new Promise((resolve) => stack.host.onInventoryChanged(resolve));
  await using rosa = await stack.executor('rosa');
  await rosa.execute({ name: 'mcp_odd__announce' });
  await changed;
  expect(await explain()).toMatchObject({
    repeat: 'unsafe',
    repeat_rule: 'its server declares neither readOnlyHint nor idempotentHint',
    withheld: ['idempotentHint'],
  });
  await rosa.refresh();
  expect(rosa.findTool('mcp_odd__exit')?.annotations).toEqual({ idempotentHint: false });
  const problem = { tool: 'exit', message: expect.stringContaining('idempotentHint: true') };
  const report = { tool_problems: expect.arrayContaining([problem]) };
  expect(await ask(operator, { op: 'servers' })).toMatchObject({ data: { servers: [report] } });
  await stack.host.reload('odd');
  expect(await explain()).toMatchObject({ repeat: 'safe' });
});
