#!/usr/bin/env bash
# A client of @modelcontextprotocol/sdk 1.32.2 checks structuredContent against the outputSchema of the tool, but only for tools of the page
# of tools/list that it read last: reading a page forgets the schemas of the page before. So it depends on the page read last whether a
# result that breaks its schema is refused or taken. @modelcontextprotocol/client 2.4.0 reads all pages itself, and checks all tools.
#
# Seen on Linux with Node 24: results {"n": "text"} of tools that promise a number:
#   sdk 1.32.2, page 1 read: first refused, second taken
#   sdk 1.32.2, page 2 read: first taken, second refused
#   client 2.4.0, list read: first refused, second refused
# Fails if that changes.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
npm init -y > /dev/null
npm install --silent --no-audit --no-fund @modelcontextprotocol/{sdk@1.32.2,client@2.4.0} > /dev/null
cat > server.mjs <<'JS'
import { createInterface } from 'node:readline';
const tool = (name) => ({
  name, inputSchema: { type: 'object' }, outputSchema: { type: 'object', properties: { n: { type: 'number' } }, required: ['n'] },
});
createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method, params } = JSON.parse(line);
  if (id === undefined) return;
  const results = {
    initialize: { protocolVersion: '2025-11-25', capabilities: { tools: {} }, serverInfo: { name: 'two-pages', version: '1.0.0' } },
    'tools/list': params?.cursor === 'two' ? { tools: [tool('second')] } : { tools: [tool('first')], nextCursor: 'two' },
    'tools/call': { content: [], structuredContent: { n: 'text' } },
  };
  const found = results[method];
  console.log(JSON.stringify({ jsonrpc: '2.0', id, ...(found ? { result: found } : { error: { code: -32601, message: `no ${method}` } }) }));
});
JS
cat > try.mjs <<'JS'
import { Client as NewClient } from '@modelcontextprotocol/client';
import { StdioClientTransport as NewTransport } from '@modelcontextprotocol/client/stdio';
import { Client as OldClient } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport as OldTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
async function start(Client, Transport) {
  const client = new Client({ name: 'finding', version: '1.0.0' });
  await client.connect(new Transport({ command: process.execPath, args: ['server.mjs'] }));
  return client;
}
async function show(title, client) {
  const told = [];
  for (const name of ['first', 'second']) {
    const call = client.callTool({ name, arguments: {} });
    told.push(`${name} ${await call.then(() => 'taken', ({ message }) => (/schema/.test(message) ? 'refused' : message))}`);
  }
  console.log(`${title}: ${told.join(', ')}`);
}
const old = await start(OldClient, OldTransport);
const { nextCursor } = await old.listTools();
await show('sdk 1.32.2, page 1 read', old);
await old.listTools({ cursor: nextCursor });
await show('sdk 1.32.2, page 2 read', old);
await old.close();
const client = await start(NewClient, NewTransport);
await client.listTools();
await show('client 2.4.0, list read', client);
await client.close();
JS
node try.mjs | tee seen
diff - seen <<'TXT'
sdk 1.32.2, page 1 read: first refused, second taken
sdk 1.32.2, page 2 read: first taken, second refused
client 2.4.0, list read: first refused, second refused
TXT
