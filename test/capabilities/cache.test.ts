import { expect, it } from 'vitest';
import { changeAfter, input, openCatalog, restTool } from '../support/capabilities/test-catalog.ts';
import { json, startWebServer } from '../support/capabilities/web-server.ts';

it('keeps results for cache.ttl, by arguments and for every caller, and never errors', async () => {
  let count = 0;
  let status = 200;
  await using server = await startWebServer((_, response) => json(response, status, { count: ++count }));
  const tool = restTool(
    'read',
    { base_url: server.origin, params: { q: '{q}' } },
    { ...input({ q: {} }), cache: { ttl: 10 }, metadata: { read_only: true } },
  );
  let now = 1_000;
  await using tools = await openCatalog({ 'a.json': tool }, { allowHosts: [server.host], now: () => now });
  const read = async (q: string, agent = 'rosa') => {
    const outcome = await tools.call('read', { q }, { caller: { agent, role: 'r' } });
    return 'result' in outcome
      ? (outcome.result.structuredContent as { count: number } | undefined)?.count
      : undefined;
  };
  expect([await read('a'), await read('a'), await read('a', 'otto')]).toEqual([1, 1, 1]);
  expect(await read('b')).toBe(2);
  now += 9_999;
  expect(await read('a')).toBe(1);
  now += 2;
  expect(await read('a')).toBe(3);
  status = 404;
  expect([await read('c'), await read('c')]).toEqual([undefined, undefined]);
  expect(server.arrivals).toHaveLength(5);
  status = 200;

  await changeAfter(tools.catalog, async () => {
    await tools.write({ 'b.json': restTool('other', { base_url: server.origin }) });
    await tools.catalog.reload();
  });
  expect(await read('a')).toBe(3);
  await changeAfter(tools.catalog, async () => {
    await tools.write({ 'a.json': { ...tool, description: 'changed' } });
    await tools.catalog.reload();
  });
  expect(await read('a')).toBe(6);
});

it('calls that ask the same at the same time share one request', async () => {
  const held: (() => void)[] = [];
  await using server = await startWebServer((_, response) => {
    held.push(() => json(response, 200, { n: 1 }));
  });
  const tool = restTool(
    'read',
    { base_url: server.origin },
    { cache: { ttl: 10 }, metadata: { read_only: true } },
  );
  await using tools = await openCatalog({ 'a.json': tool }, { allowHosts: [server.host] });
  const calls = [tools.call('read'), tools.call('read'), tools.call('read')];
  await expect.poll(() => held.length).toBe(1);
  held[0]!();
  expect(await Promise.all(calls)).toMatchObject(Array(3).fill({ result: { structuredContent: { n: 1 } } }));
  expect(server.arrivals).toHaveLength(1);
});
