#!/usr/bin/env bash
# MCPToolset of @google/adk 2.0.0 asks tools/list once and does not follow nextCursor, so that its model knows the first page of a server's
# tools and nobody is told that there are more. And of what it knows it loses parameters: one that is a $ref, as servers in Python write
# models in models, becomes an object without properties, a map becomes the same, and of oneOf no type is left.
#
# Seen on Linux with Node 24, by a server of three tools on three pages: the tools, and the first one's parameters as shown to the model:
#   client 2.4.0: first, second, third
#   adk 2.0.0: first
#   {"$ref":"#/$defs/point"}: {"type":"OBJECT","properties":{}}
#   {"type":"object","additionalProperties":{"type":"number"}}: {"type":"OBJECT","properties":{}}
#   {"oneOf":[{"type":"string"},{"type":"number"}]}: {"type":"TYPE_UNSPECIFIED"}
#   {"type":"object","properties":{"x":{"type":"number"}}}: {"type":"OBJECT","properties":{"x":{"type":"NUMBER"}}}
# Fails if that changes.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
npm init -y > /dev/null
npm install --silent --prefer-offline --no-audit --no-fund @google/adk@2.0.0 @modelcontextprotocol/{sdk@1.32.2,client@2.4.0} > /dev/null
cat > server.mjs <<'JS'
import { createInterface } from 'node:readline';
import { parameters } from './parameters.mjs';
const point = { type: 'object', properties: { x: { type: 'number' } } };
const [first, second, third] = ['first', 'second', 'third'].map((name) => ({ name, inputSchema: { type: 'object' } }));
Object.assign(first.inputSchema, { properties: parameters, $defs: { point } });
const pages = {
  undefined: { tools: [first], nextCursor: '2' },
  2: { tools: [second], nextCursor: '3' },
  3: { tools: [third] },
};
createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method, params } = JSON.parse(line);
  if (id === undefined) return;
  const results = {
    initialize: { protocolVersion: '2025-06-18', capabilities: { tools: {} }, serverInfo: { name: 'it', version: '1.0.0' } },
    'tools/list': pages[params?.cursor],
  };
  const found = results[method];
  console.log(JSON.stringify({ jsonrpc: '2.0', id, ...(found ? { result: found } : { error: { code: -32601, message: 'unknown' } }) }));
});
JS
cat > parameters.mjs <<'JS'
const number = { type: 'number' };
export const parameters = {
  reference: { $ref: '#/$defs/point' },
  map: { type: 'object', additionalProperties: number },
  either: { oneOf: [{ type: 'string' }, number] },
  plain: { type: 'object', properties: { x: number } },
};
JS
cat > try.mjs <<'JS'
import { MCPToolset } from '@google/adk';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { parameters } from './parameters.mjs';
const server = { command: process.execPath, args: ['server.mjs'] };
const client = new Client({ name: 'finding', version: '1.0.0' });
await client.connect(new StdioClientTransport(server));
const names = (tools) => tools.map(({ name }) => name).join(', ');
console.log(`client 2.4.0: ${names((await client.listTools()).tools)}`);
const tools = await new MCPToolset({ type: 'StdioConnectionParams', serverParams: server }).getTools();
console.log(`adk 2.0.0: ${names(tools)}`);
const shown = tools[0]._getDeclaration().parameters.properties;
for (const [name, schema] of Object.entries(parameters)) console.log(`${JSON.stringify(schema)}: ${JSON.stringify(shown[name])}`);
process.exit(0);
JS
node try.mjs | tee seen
diff - seen <<'TXT'
client 2.4.0: first, second, third
adk 2.0.0: first
{"$ref":"#/$defs/point"}: {"type":"OBJECT","properties":{}}
{"type":"object","additionalProperties":{"type":"number"}}: {"type":"OBJECT","properties":{}}
{"oneOf":[{"type":"string"},{"type":"number"}]}: {"type":"TYPE_UNSPECIFIED"}
{"type":"object","properties":{"x":{"type":"number"}}}: {"type":"OBJECT","properties":{"x":{"type":"NUMBER"}}}
TXT
