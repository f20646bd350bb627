#!/usr/bin/env bash
# @langchain/mcp-adapters 1.1.4 simplifies the inputSchema of tools for models that know little of JSON Schema, and takes the type from every
# parameter that has alternatives: {"anyOf":[{"type":"string"},{"type":"null"}]}, as servers in Python write each optional one, becomes {}.
# Two objects to choose from become one in which nothing is required. {"type":["string","null"]} says the same and is kept.
#
# Seen on Linux with Node 24, each parameter as the model is shown it:
#   nullable: {}
#   listed: {"type":["string","null"]}
#   names: {"type":"array","items":{}}
#   when: {"type":"object","properties":{"at":{"type":"string"},"in":{"type":"number"}}}
# Fails if that changes.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
npm init -y > /dev/null
npm install --silent --no-audit --no-fund @langchain/mcp-adapters@1.1.4 @langchain/core@1.4.0 @langchain/langgraph@1.7.3 > /dev/null
cat > server.mjs <<'JS'
import { createInterface } from 'node:readline';
const object = (name, type) => ({ type: 'object', properties: { [name]: { type } }, required: [name] });
const properties = {
  nullable: { anyOf: [{ type: 'string' }, { type: 'null' }] },
  listed: { type: ['string', 'null'] },
  names: { type: 'array', items: { anyOf: [{ type: 'string' }, { type: 'null' }] } },
  when: { oneOf: [object('at', 'string'), object('in', 'number')] },
};
createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method } = JSON.parse(line);
  if (id === undefined) return;
  const results = {
    initialize: { protocolVersion: '2025-06-18', capabilities: { tools: {} }, serverInfo: { name: 'server', version: '1.0.0' } },
    'tools/list': { tools: [{ name: 'tool', inputSchema: { type: 'object', properties } }] },
  };
  const found = results[method];
  console.log(JSON.stringify({ jsonrpc: '2.0', id, ...(found ? { result: found } : { error: { code: -32601, message: `no ${method}` } }) }));
});
JS
cat > try.mjs <<'JS'
import { MultiServerMCPClient } from '@langchain/mcp-adapters';
const server = { transport: 'stdio', command: process.execPath, args: ['server.mjs'] };
const client = new MultiServerMCPClient({ mcpServers: { server } });
const [{ schema }] = await client.getTools();
for (const [name, shown] of Object.entries(schema.properties)) console.log(`${name}: ${JSON.stringify(shown)}`);
await client.close();
JS
node try.mjs | tee seen
diff - seen <<'TXT'
nullable: {}
listed: {"type":["string","null"]}
names: {"type":"array","items":{}}
when: {"type":"object","properties":{"at":{"type":"string"},"in":{"type":"number"}}}
TXT
