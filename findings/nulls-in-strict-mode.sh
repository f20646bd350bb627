#!/usr/bin/env bash
# With convertSchemasToStrict, @openai/agents 0.20.0 shows the model each optional parameter of a tool of MCP as a required one that may be
# null, and takes those nulls out of the call again, but not where the tool itself allows null. So a model that leaves two optional
# parameters alone sends one of them as null, as if to clear it, and has no other choice: a strict schema lets nothing be left out.
#
# Seen on Linux with Node 24, of a tool whose note is {"type":"string"} and whose assignee is {"type":["string","null"]}, both optional:
#   as it is: required id; {"id":1} arrives as {"id":1}
#   strict: required id, note, assignee; {"id":1,"note":null,"assignee":null} arrives as {"id":1,"assignee":null}
# Fails if that changes.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
npm init -y > /dev/null
npm install --silent --prefer-offline --no-audit --no-fund @openai/agents@0.20.0 zod@4.6.7 > /dev/null
cat > server.mjs <<'JS'
import { createInterface } from 'node:readline';
const properties = { id: { type: 'integer' }, note: { type: 'string' }, assignee: { type: ['string', 'null'] } };
const inputSchema = { type: 'object', properties, required: ['id'], additionalProperties: false };
createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method, params } = JSON.parse(line);
  if (id === undefined) return;
  const results = {
    initialize: { protocolVersion: '2025-06-18', capabilities: { tools: {} }, serverInfo: { name: 'server', version: '1.0.0' } },
    'tools/list': { tools: [{ name: 'update', inputSchema }] },
    'tools/call': { content: [{ type: 'text', text: JSON.stringify(params?.arguments) }] },
  };
  const found = results[method];
  console.log(JSON.stringify({ jsonrpc: '2.0', id, ...(found ? { result: found } : { error: { code: -32601, message: 'unknown' } }) }));
});
JS
cat > try.mjs <<'JS'
import { MCPServerStdio, mcpToFunctionTool, RunContext } from '@openai/agents';
const server = new MCPServerStdio({ name: 'server', command: process.execPath, args: ['server.mjs'] });
await server.connect();
const [update] = await server.listTools();
for (const [name, isStrict, said] of [['as it is', false, '{"id":1}'], ['strict', true, '{"id":1,"note":null,"assignee":null}']]) {
  const tool = mcpToFunctionTool(update, server, isStrict);
  if (tool.strict !== isStrict) throw new Error('not converted');
  const { text } = await tool.invoke(new RunContext({}), said);
  console.log(`${name}: required ${tool.parameters.required.join(', ')}; ${said} arrives as ${text}`);
}
await server.close();
process.exit(0);
JS
node try.mjs | tee seen
diff - seen <<'TXT'
as it is: required id; {"id":1} arrives as {"id":1}
strict: required id, note, assignee; {"id":1,"note":null,"assignee":null} arrives as {"id":1,"assignee":null}
TXT
