import { createMcpHandler, Server } from '@modelcontextprotocol/server';
import { SignalboxError } from '@signalbox/protocol';
import { expect, it } from 'vitest';
import { startEndpoint } from '../support/mcp-host/http-endpoint.ts';
import { call, jsonResult, startTestHost } from '../support/mcp-host/test-host.ts';
import { misbehavingServer } from '../support/mcp-host/test-servers.ts';

it('counts restarts in a window of time, each instance for itself', async () => {
  let clock = 0;
  const limits = { maxRestarts: 1, restartWindowMs: 1_000, share: 'worker' as const };
  await using host = startTestHost({
    servers: { a: { ...misbehavingServer(), ...limits } },
    now: () => clock,
  });
  await host.inventory();
  const rosa = { caller: { agent: 'rosa', role: 'r' } };
  const leo = { caller: { agent: 'leo', role: 'r' } };
  jsonResult(await call(host, 'mcp_a__note', { text: 'of leo' }, leo));
  const crash = async (events: string, count: number) => {
    await call(host, 'mcp_a__crash_on', { n: 1 }, rosa);
    await host.seen(events, { instance: 'worker:rosa' }, count);
  };
  await crash('server_ready', 2);
  clock += 1_000;
  await crash('server_ready', 3);
  await crash('server_ejected', 1);
  expect(await call(host, 'mcp_a__note', {}, rosa)).toMatchObject({ error: { retryable: false } });
  expect(jsonResult(await call(host, 'mcp_a__note', { text: 'more' }, leo))).toMatchObject({
    notes: ['of leo', 'more'],
  });
  await host.reload('a');
  expect(jsonResult(await call(host, 'mcp_a__note', { text: 'back' }, rosa))).toMatchObject({
    notes: ['back'],
  });
});

it('waits for somebody to sign in where a server needs that, without trying again and again', async () => {
  const handler = createMcpHandler(() => {
    const server = new Server({ name: 'm', version: '1' }, { capabilities: { tools: {} } });
    server.setRequestHandler('tools/list', () => ({
      tools: [{ name: 'greet', inputSchema: { type: 'object' } }],
    }));
    server.setRequestHandler('tools/call', () => ({ content: [] }));
    return server;
  });
  await using endpoint = await startEndpoint((request) => handler.fetch(request));
  let signedIn = false;
  let asked = 0;
  const header = async () => {
    asked++;
    if (signedIn) return 'Bearer abcdefgh';
    throw new SignalboxError('needs_auth', 'nobody has signed in');
  };
  const auth = { type: 'authorization_code' as const };
  const none = () => new SignalboxError('needs_auth', 'nobody has signed in');
  await using host = startTestHost({
    servers: { web: { type: 'http', url: endpoint.url, auth } },
    authorizerFor: () => ({
      get state() {
        return signedIn ? ('ready' as const) : ('needs_auth' as const);
      },
      header,
      renew: header,
      refused: none,
      secrets: () => [],
      redact: (text) => text,
      forget: () => {},
    }),
  });
  const { problems } = await host.inventory();
  expect(problems).toEqual([{ server: 'web', message: expect.stringContaining('sign in') }]);
  expect(host.servers()[0]).toMatchObject({ state: 'needs_auth', auth: 'needs_auth', transport: 'http' });
  expect(await call(host, 'mcp_web__greet')).toMatchObject({
    error: { retryable: false, hint: expect.stringContaining('signalbox servers auth web') },
  });
  expect(host.events.map(({ event }) => event)).not.toContain('server_backing_off');
  expect(asked).toBe(1);

  signedIn = true;
  expect(await host.reload('web')).toMatchObject({ state: 'ready', auth: 'ready' });
  expect(await call(host, 'mcp_web__greet')).toHaveProperty('result');
  await handler.close();
});
