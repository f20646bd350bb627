#!/usr/bin/env bash
# @ai-sdk/mcp 2.0.99 writes additionalProperties: false over the inputSchema of every tool, also where the tool says that further arguments
# are its point. So a tool that takes a map of names and texts is shown to the model as one that takes nothing at all, while the official
# client hands the schema on as it is.
#
# Seen on Linux with Node 24, by a tool with inputSchema {"type":"object","additionalProperties":{"type":"string"}}:
#   client 2.4.0: {"type":"object","additionalProperties":{"type":"string"}}
#   ai-sdk 2.0.99: {"type":"object","additionalProperties":false,"properties":{}}
# Fails if that changes.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
npm init -y > /dev/null
npm install --silent --no-audit --no-fund @ai-sdk/mcp@2.0.99 zod@4.6.7 @modelcontextprotocol/client@2.4.0 > /dev/null
cat > server.mjs <<'JS'
import { createInterface } from 'node:readline';
const labels = { name: 'labels', inputSchema: { type: 'object', additionalProperties: { type: 'string' } } };
createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method } = JSON.parse(line);
  if (id === undefined) return;
  const results = {
    initialize: { protocolVersion: '2025-06-18', capabilities: { tools: {} }, serverInfo: { name: 'labels', version: '1.0.0' } },
    'tools/list': { tools: [labels] },
  };
  const found = results[method];
  console.log(JSON.stringify({ jsonrpc: '2.0', id, ...(found ? { result: found } : { error: { code: -32601, message: `no ${method}` } }) }));
});
JS
cat > try.mjs <<'JS'
import { createMCPClient } from '@ai-sdk/mcp';
import { Experimental_StdioMCPTransport as AiTransport } from '@ai-sdk/mcp/mcp-stdio';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
const server = { command: process.execPath, args: ['server.mjs'] };
const client = new Client({ name: 'finding', version: '1.0.0' });
await client.connect(new StdioClientTransport(server));
const { tools: [official] } = await client.listTools();
console.log(`client 2.4.0: ${JSON.stringify(official.inputSchema)}`);
await client.close();
const ai = await createMCPClient({ transport: new AiTransport(server) });
const { labels } = await ai.tools();
console.log(`ai-sdk 2.0.99: ${JSON.stringify(labels.inputSchema.jsonSchema)}`);
await ai.close();
JS
node try.mjs | tee seen
diff - seen <<'TXT'
client 2.4.0: {"type":"object","additionalProperties":{"type":"string"}}
ai-sdk 2.0.99: {"type":"object","additionalProperties":false,"properties":{}}
TXT
