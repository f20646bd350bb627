import { writeFile } from 'node:fs/promises';
import { createMcpHandler, Server } from '@modelcontextprotocol/server';
import { RoleToolAllowlist } from '@signalbox/orchestrator';
import { expect, test } from 'vitest';
import { startEndpoint } from '../support/mcp-host/http-endpoint.ts';
import { callError } from '../support/orchestrator/requests.ts';
import { startToolStack } from '../support/orchestrator/tool-stack.ts';

const count = 'mcp_counter__count';
const gate = 'mcp_counter__gate';
const perMinute = (calls: number) => ({ calls, windowMs: 60_000 });

test('a worker that has used up its budget is told when to call again, and its call reaches no server', async () => {
  const clock = { now: 0 };
  await using stack = await startToolStack({
    allowlist: RoleToolAllowlist.fromEntries([['worker', [count]]]),
    budgets: { perWorker: perMinute(2), roles: { builder: perMinute(1) } },
    monotonic: () => clock.now,
  });
  const [rosa, walt] = [await stack.client('rosa'), await stack.client('walt')];
  const bob = await stack.client('bob', 'builder');
  // Calls that the allowlist refuses cost nothing. Calls with unreadable arguments do.
  expect(await callError(rosa, gate)).toMatchObject({ code: 'permission_denied' });
  expect(await callError(rosa, count)).toBeUndefined();
  expect(await callError(rosa, count, [] as never)).toMatchObject({ code: 'invalid_arguments' });
  expect(await callError(rosa, count)).toEqual({
    code: 'quota_exceeded',
    message: "'rosa' has used up the budget of 2 calls in 60 s",
    category: 'transient',
    retryable: true,
    may_have_run: false,
    retry_after_seconds: 60,
    hint: 'This call did not run. Make fewer calls.',
  });
  expect(await callError(walt, count)).toBeUndefined();
  expect([await callError(bob, count), (await callError(bob, count))?.code]).toEqual([
    undefined,
    'quota_exceeded',
  ]);
  expect(stack.ran('count').filter(({ at }) => at === 'start')).toHaveLength(3);
  clock.now = 60_000;
  expect(await callError(rosa, count)).toBeUndefined();
  // A new budget holds at once, for what was called under the old one too.
  stack.orchestrator.setPolicy({ budgets: { perRole: { worker: perMinute(1) } } });
  expect([await callError(rosa, count), await callError(walt, count)]).toMatchObject([
    undefined,
    {
      message: expect.stringContaining(
        "the workers of role 'worker' have together used up the budget of 1 call",
      ),
    },
  ]);
  const nonsense = { perWorker: { calls: 0, windowMs: 1 } };
  expect(() => stack.orchestrator.setPolicy({ budgets: nonsense, serverConcurrency: {} })).toThrow(
    expect.objectContaining({ code: 'bad_config' }),
  );
  expect(() => stack.orchestrator.setPolicy({ budgets: {}, serverConcurrency: { counter: 0 } })).toThrow(
    'concurrency.servers.counter',
  );
  expect((await callError(rosa, count))?.code).toBe('quota_exceeded');
});

test('a call that is answered from the cache counts too', async () => {
  let asked = 0;
  const handler = createMcpHandler(() => {
    const server = new Server({ name: 'prices', version: '1' }, { capabilities: { tools: {} } });
    server.setRequestHandler('tools/list', () => ({
      tools: [{ name: 'price', inputSchema: { type: 'object' }, annotations: { readOnlyHint: true } }],
    }));
    server.setRequestHandler('tools/call', () => {
      asked++;
      return { content: [{ type: 'text', text: '7' }], _meta: { ttlMs: 60_000 } };
    });
    return server;
  });
  await using endpoint = await startEndpoint((request) => handler.fetch(request));
  await using stack = await startToolStack({
    servers: { prices: { type: 'http', url: endpoint.url } },
    budgets: { perWorker: perMinute(2) },
  });
  const rosa = await stack.client('rosa');
  const codes: (string | undefined)[] = [];
  for (let n = 0; n < 3; n++) codes.push((await callError(rosa, 'mcp_prices__price'))?.code);
  expect(codes).toEqual([undefined, undefined, 'quota_exceeded']);
  expect(asked).toBe(1);
  await handler.close();
});

test('a call that never got its turn does not count', async () => {
  await using stack = await startToolStack({
    budgets: { perWorker: perMinute(3) },
    concurrency: { perWorker: 1, waitingPerWorker: 1 },
  });
  const rosa = await stack.client('rosa');
  const opener = `${stack.directory}/open`;
  const open = [1, 2].map(() => callError(rosa, gate, { file: opener }));
  await expect.poll(() => stack.ran('gate')).toHaveLength(1);
  await expect.poll(() => stack.orchestrator.inFlight).toBe(2);
  for (const n of [1, 2, 3]) {
    expect((await callError(rosa, count, { n }))?.message).toContain('the queue of');
  }
  await writeFile(opener, '');
  expect(await Promise.all(open)).toEqual([undefined, undefined]);
  expect(await callError(rosa, count)).toBeUndefined();
  expect((await callError(rosa, count))?.message).toContain('the budget of 3 calls');
});
