#!/usr/bin/env bash
# A client of @modelcontextprotocol/sdk 1.32.2 takes no notice of a cancellation of request 0, which is the first request that a server of the
# same SDK makes of its client: each side counts from 0, and the client's own request 0 is initialize, which nobody may cancel. So the first
# question to a user stays on the screen when the server has given it up, and only the later ones go away. @modelcontextprotocol/client
# 2.4.0 ends both.
#
# Seen on Linux with Node 24, by a tool that asks two questions and gives each up after 300 ms; the id of a question, and what became of it:
#   sdk 1.32.2: 0 stays open, 1 cancelled
#   client 2.4.0: 0 cancelled, 1 cancelled
# Fails if that changes.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
npm init -y > /dev/null
npm install --silent --prefer-offline --no-audit --no-fund @modelcontextprotocol/{sdk@1.32.2,client@2.4.0} zod@4.6.7 > /dev/null
cat > server.mjs <<'JS'
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
const server = new McpServer({ name: 'it', version: '1.0.0' });
const requestedSchema = { type: 'object', properties: { sure: { type: 'boolean' } } };
server.registerTool('ask', {}, async () => {
  for (const message of ['first', 'second']) await server.server.elicitInput({ message, requestedSchema }, { timeout: 300 }).catch(() => {});
  return { content: [] };
});
await server.connect(new StdioServerTransport());
JS
cat > try.mjs <<'JS'
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { Client as OlderClient } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport as OlderTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js';
const server = { command: process.execPath, args: ['server.mjs'] };
const options = [{ name: 'finding', version: '1.0.0' }, { capabilities: { elicitation: {} } }];
async function seen(label, client, transport, method) {
  const asked = new Map();
  client.setRequestHandler(method, (_request, context) => {
    const { id = context.requestId, signal = context.signal } = context.mcpReq ?? {};
    asked.set(id, signal);
    return new Promise(() => {});
  });
  await client.connect(transport);
  await client.callTool({ name: 'ask', arguments: {} });
  const ends = [...asked].map(([id, signal]) => `${id} ${signal.aborted ? 'cancelled' : 'stays open'}`);
  console.log(`${label}: ${ends.join(', ')}`);
}
await seen('sdk 1.32.2', new OlderClient(...options), new OlderTransport(server), ElicitRequestSchema);
await seen('client 2.4.0', new Client(...options), new StdioClientTransport(server), 'elicitation/create');
process.exit(0);
JS
node try.mjs | tee seen
diff - seen <<'TXT'
sdk 1.32.2: 0 stays open, 1 cancelled
client 2.4.0: 0 cancelled, 1 cancelled
TXT
