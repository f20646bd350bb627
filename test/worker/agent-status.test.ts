import { Client } from '@modelcontextprotocol/client';
import { InMemoryTransport } from '@modelcontextprotocol/server';
import { RoleToolAllowlist } from '@signalbox/orchestrator';
import { type McpProxyExecutor, serveMcpFace } from '@signalbox/worker';
import { expect, test } from 'vitest';
import { startToolStack } from '../support/orchestrator/tool-stack.ts';

async function connectClient(executor: McpProxyExecutor, name: string, mode: 'legacy' | 'auto') {
  const [ours, theirs] = InMemoryTransport.createLinkedPair();
  const face = serveMcpFace(executor, { version: '1.2.3', transport: ours });
  const client = new Client({ name, version: '4.5.6' }, { versionNegotiation: { mode } });
  await client.connect(theirs);
  return { client, [Symbol.asyncDispose]: () => face.close() };
}

test('the broker knows of each agent whether its client is there, and how many calls run', async () => {
  await using stack = await startToolStack({
    allowlist: RoleToolAllowlist.fromEntries([['builder', ['*']]]),
  });
  const watcher = await stack.client('watcher');
  const statuses = async (...agents: string[]) => {
    const connected = await watcher.listConnected({ withStatus: true });
    return agents.map((agent) => connected.find((one) => one.agent === agent)?.status);
  };
  const known = (...agents: string[]) => expect.poll(() => statuses(...agents));
  await using older = await connectClient(await stack.executor('old', 'builder'), 'older', 'legacy');
  await using newer = await connectClient(await stack.executor('new', 'builder'), 'newer', 'auto');
  const idle = { worker: 'mcp', state: 'idle', calls: 0 };
  await known('old', 'new').toEqual([
    { ...idle, listed: false },
    { ...idle, listed: false },
  ]);
  const stop = new AbortController();
  const calls = [older, newer, newer].map(async ({ client }) => {
    await client.listTools();
    const gate = { name: 'mcp_counter__gate', arguments: { calls: 9 } };
    await client.callTool(gate, { signal: stop.signal });
  });
  const working = {
    ...{ worker: 'mcp', state: 'working', listed: true },
    last_call_at: expect.any(Number),
  };
  await known('old', 'new').toEqual([
    { ...working, calls: 1, client: 'older 4.5.6' },
    { ...working, calls: 2, client: 'newer 4.5.6' },
  ]);
  stop.abort();
  await Promise.allSettled(calls);
});
