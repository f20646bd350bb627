import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { readAudit } from '@signalbox/client/operator';
import type { Inventory } from '@signalbox/mcp-host';
import { explanationSchema } from '@signalbox/protocol';
import { openSqliteJournal } from '@signalbox/store/journal';
import { storedRows, tempDir } from '@signalbox/testing';
import { expect, test, vi } from 'vitest';
import { call, startTestHost, type TestHost } from '../support/mcp-host/test-host.ts';
import { nonstandardServer, toolNamed } from '../support/mcp-host/test-servers.ts';
import { explained } from '../support/orchestrator/explained-step.ts';
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
  const told: string[] = [];
  host.onHintsWithheld((withheld) => told.push(...withheld.map(({ tool }) => tool)));
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
  expect(told).toEqual(['mcp_odd__exit', 'mcp_odd__fail']);
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
  const widened = await explain();
  expect(widened).toHaveProperty('withheld', ['idempotentHint']);
  expect(widened).toEqual(
    explained('journal', { rule: 'its server declares neither readOnlyHint nor idempotentHint' }),
  );
  await rosa.refresh();
  expect(rosa.findTool('mcp_odd__exit')?.annotations).toEqual({ idempotentHint: false });
  const problem = { tool: 'exit', message: expect.stringContaining('idempotentHint: true') };
  const report = { tool_problems: expect.arrayContaining([problem]) };
  expect(await ask(operator, { op: 'servers' })).toMatchObject({ data: { servers: [report] } });
  await stack.host.reload('odd');
  expect(await explain()).toEqual(explained('journal', { rule: 'its server declares idempotentHint' }));
});

test('withheld hints are recorded once in the audit log, also after the broker was away; a worker records nothing', async () => {
  await using server = await changingServer({});
  await using stack = await startToolStack({ servers: { odd: server.config }, counter: false });
  await stack.host.inventory();
  await using operator = await stack.client('operator', 'operator');
  await using rosa = await stack.executor('rosa');
  const change = async (annotations: object) => {
    const withheld = Promise.withResolvers<unknown>();
    const unsubscribe = stack.host.onHintsWithheld((hints) => {
      if (hints.some(({ hints: [first] }) => first === Object.keys(annotations)[0])) withheld.resolve(hints);
    });
    await server.list(annotations);
    await call(stack.host, 'mcp_odd__announce');
    await withheld.promise;
    unsubscribe();
  };
  const entries = async () => {
    const { entries } = await readAudit(operator, { since: 0, kinds: ['change'], limit: 1000 });
    const found = entries.filter(({ code }) => code === 'hints_withheld');
    return { found, count: found.reduce((sum, { count }) => sum + count, 0) };
  };
  await change({ idempotentHint: true });
  const first = await vi.waitFor(async () => {
    const { found } = await entries();
    expect(found).toHaveLength(1);
    return found[0]!;
  });
  expect(first).toMatchObject({
    agent: 'orchestrator',
    token_id: expect.any(String),
    count: 1,
    detail: "mcp_odd__exit of server 'odd': idempotentHint; mcp_odd__fail of server 'odd': idempotentHint",
  });

  const worker = await stack.client('walt');
  const before = await storedRows(stack.broker.dataDir);
  const forged = worker.audit('b1', [{ code: 'hints_withheld', detail: 'forged' }]);
  await expect(forged).rejects.toMatchObject({ code: 'forbidden' });
  const twoLines = worker.audit('b2', [{ code: 'hints_withheld', detail: 'two\nlines' }]);
  await expect(twoLines).rejects.toMatchObject({
    code: 'bad_frame',
    message: expect.stringContaining('detail'),
  });
  expect(await storedRows(stack.broker.dataDir)).toEqual(before);
  expect(await entries()).toMatchObject({ count: 1, found: [{ agent: 'orchestrator' }] });

  await stack.broker.broker.stop();
  await change({ readOnlyHint: true });
  await change({ openWorldHint: false });
  await stack.broker.restart();
  await vi.waitFor(
    async () => {
      const { found } = await entries();
      expect(found).toMatchObject([
        {},
        { agent: 'orchestrator', detail: expect.stringContaining("exit of server 'odd': readOnlyHint") },
        { agent: 'orchestrator', detail: expect.stringContaining("exit of server 'odd': openWorldHint") },
      ]);
    },
    { timeout: 10_000 },
  );
  await stack.broker.restart();
  // The reply follows everything that the orchestrator sends when it is connected again.
  await rosa.execute({ name: 'mcp_odd__announce' });
  expect((await entries()).count).toBe(3);
});
