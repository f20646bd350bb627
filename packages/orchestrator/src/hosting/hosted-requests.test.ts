import { fileURLToPath } from 'node:url';
import { startMcpHost } from '@signalbox/mcp-host';
import { expect, test } from 'vitest';
import { namedHere, OrderlyEnd } from './hosted-requests.ts';

const server = fileURLToPath(new URL('../../../../test/support/cli/named-tools-server.ts', import.meta.url));

test('A tool that its server has no more is never taken for the tool of another server with the same name on the wire.', async () => {
  const serving = (tool: string) => ({
    type: 'stdio' as const,
    command: process.execPath,
    args: [server, tool],
  });
  const host = startMcpHost({ servers: { a: serving('look'), a__b: serving('c') } });
  try {
    await host.inventory();
    expect(host.route('mcp_a__b__c').server).toBe('a__b');
    const named = async (name: string, tool: string): Promise<string> =>
      (await namedHere({ host }, { op: 'call', tool, arguments: {}, hosted: { server: name } })).tool;
    expect(await named('a__b', 'c')).toBe('mcp_a__b__c');
    expect(await named('a', 'look')).toBe('mcp_a__look');
    expect(await named('a', 'b__c')).toBe('a:b__c');
    expect(await named('a', 'gone')).toBe('mcp_a__gone');
  } finally {
    await host.close();
  }
});

test('An orchestrator that ends waits for one who asked again before its question was over.', async () => {
  const end = new OrderlyEnd();
  const first = new AbortController();
  const overFirst = end.begun('orchestrator#1', first.signal);
  const told = end.begun('orchestrator#1', new AbortController().signal);
  first.abort();
  await overFirst;
  let hasEnded = false;
  const ended = end.begin({ successor: false }).then(() => {
    hasEnded = true;
  });
  await told;
  expect(hasEnded).toBe(false);
  end.asked('orchestrator#1');
  await ended;
});
