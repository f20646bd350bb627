#!/usr/bin/env bash
# One tool whose outputSchema refers to a definition that is not there costs a client of @modelcontextprotocol/sdk 1.32.2 the whole list:
# listTools() compiles every output schema, so that it rejects although the answer is valid MCP. @modelcontextprotocol/client 2.4.0 lists all
# tools, and only a call of that one fails. So a server works with newer clients and has no tools at all with older ones.
#
# Seen on Linux with Node 24, by a server of two tools, of which one is whole:
#   sdk 1.32.2:   listTools rejects
#   client 2.4.0: listTools returns whole, dangling; calls: whole ok, dangling rejects
# Fails if that changes.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
npm init -y > /dev/null
npm install --silent --no-audit --no-fund @modelcontextprotocol/sdk@1.32.2 @modelcontextprotocol/client@2.4.0 > /dev/null

cat > server.mjs <<'JS'
import { createInterface } from 'node:readline';
const tool = (name, outputSchema) => ({ name, inputSchema: { type: 'object' }, outputSchema });
const tools = [
  tool('whole', { type: 'object', properties: { n: { type: 'number' } } }),
  tool('dangling', { type: 'object', properties: { n: { $ref: '#/$defs/Number' } } }),
];
createInterface(process.stdin).on('line', (line) => {
  const { id, method, params } = JSON.parse(line);
  if (id === undefined) return;
  const results = {
    initialize: {
      protocolVersion: '2025-06-18',
      capabilities: { tools: {} },
      serverInfo: { name: 'two-tools', version: '1.0.0' },
    },
    'tools/list': { tools },
    'tools/call': { content: [{ type: 'text', text: '{"n":1}' }], structuredContent: { n: 1 } },
    ping: {},
  };
  const found = results[method];
  const answer = found ? { result: found } : { error: { code: -32601, message: `no ${method}` } };
  process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', id, ...answer })}\n`);
});
JS

cat > try.mjs <<'JS'
const [client, transport] = process.argv.slice(2);
const { Client } = await import(client);
const { StdioClientTransport } = await import(transport);
const it = new Client({ name: 'finding', version: '1.0.0' });
await it.connect(new StdioClientTransport({ command: process.execPath, args: ['server.mjs'] }));
const how = (promise) => promise.then(() => 'ok', () => 'rejects');
const listed = await it.listTools().then(({ tools }) => `returns ${tools.map(({ name }) => name).join(', ')}`, () => 'rejects');
let text = `listTools ${listed}`;
if (listed !== 'rejects') {
  const calls = [];
  for (const name of ['whole', 'dangling']) calls.push(`${name} ${await how(it.callTool({ name, arguments: {} }))}`);
  text += `; calls: ${calls.join(', ')}`;
}
console.log(text);
await it.close();
JS

expect() {
  echo "$1: $2"
  if [ "$2" != "$3" ]; then
    echo "changed: it was $3" >&2
    exit 1
  fi
}

sdk=@modelcontextprotocol/sdk/client
expect 'sdk 1.32.2' "$(node try.mjs $sdk/index.js $sdk/stdio.js)" 'listTools rejects'
new=@modelcontextprotocol/client
expect 'client 2.4.0' "$(node try.mjs $new $new/stdio)" 'listTools returns whole, dangling; calls: whole ok, dangling rejects'
