import type { Transport } from '@modelcontextprotocol/server';
import { expect, test } from 'vitest';
import type { FaceMcpContent } from '../tools/face-mcp-content.ts';
import { ListenedResources } from './listened-resources.ts';

test('A client that listens again under the same id holds one stream, and none when it has gone.', async () => {
  const holders = new Map<unknown, ReadonlySet<string>>();
  const mcpContent = {
    kinds: () => ({ resources: true }),
    async follow(holder: unknown, uris: ReadonlySet<string>) {
      if (uris.size > 0) holders.set(holder, uris);
      else holders.delete(holder);
      return new Map();
    },
  } as unknown as FaceMcpContent;
  const transport = { onmessage: () => {} } as unknown as Transport;
  const listened = new ListenedResources(mcpContent, transport);
  for (let i = 0; i < 1000; i++) {
    const notifications = { resourceSubscriptions: ['a:1'] };
    transport.onmessage?.({
      jsonrpc: '2.0',
      id: 1,
      method: 'subscriptions/listen',
      params: { notifications },
    });
  }
  expect(holders.size).toBe(1);
  listened.close();
  expect(holders.size).toBe(0);
});
