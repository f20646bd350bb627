#!/usr/bin/env bash
# @genkit-ai/mcp 1.42.0 reads the text of a tool's result as JSON if it begins like an object or an array, and gives the model what
# JSON.parse makes of it. So identifiers above 2^53 change, as those of tweets and of many databases, and of two equal keys one is lost.
# The same number outside of an object arrives as it was, and so does all of it by way of the official client.
#
# Seen on Linux with Node 24: a tool's text, and what the official client 2.4.0 and Genkit make of it:
#   {"id":1234567890123456789} | same | {"id":1234567890123456800}
#   [1.10, 2.0] | same | [1.1,2]
#   {"error":1,"error":2} | same | {"error":2}
#   1234567890123456789 | same | same
# Fails if that changes.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
npm init -y > /dev/null
npm install --silent --prefer-offline --no-audit --no-fund {genkit,@genkit-ai/mcp}@1.42.0 @modelcontextprotocol/client@2.4.0 > /dev/null
cat > server.mjs <<'JS'
import { createInterface } from 'node:readline';
createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method, params } = JSON.parse(line);
  if (id === undefined) return;
  const results = {
    initialize: { protocolVersion: '2025-06-18', capabilities: { tools: {} }, serverInfo: { name: 'server', version: '1.0.0' } },
    'tools/list': { tools: [{ name: 'echo', inputSchema: { type: 'object', properties: { text: { type: 'string' } } } }] },
    'tools/call': { content: [{ type: 'text', text: params?.arguments?.text }] },
  };
  const found = results[method];
  console.log(JSON.stringify({ jsonrpc: '2.0', id, ...(found ? { result: found } : { error: { code: -32601, message: 'unknown' } }) }));
});
JS
cat > try.mjs <<'JS'
import { createMcpClient } from '@genkit-ai/mcp';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { genkit } from 'genkit';
const server = { command: process.execPath, args: ['server.mjs'] };
const official = new Client({ name: 'finding', version: '1.0.0' });
await official.connect(new StdioClientTransport(server));
const client = createMcpClient({ name: 'server', mcpServer: server });
await client.ready();
const [echo] = await client.getActiveTools(genkit({}));
for (const text of ['{"id":1234567890123456789}', '[1.10, 2.0]', '{"error":1,"error":2}', '1234567890123456789']) {
  const { content: [block] } = await official.callTool({ name: 'echo', arguments: { text } });
  const given = await echo({ text });
  const shown = [block.text, typeof given === 'string' ? given : JSON.stringify(given)].map((one) => (one === text ? 'same' : one));
  console.log([text, ...shown].join(' | '));
}
process.exit(0);
JS
node try.mjs | tee seen
diff - seen <<'TXT'
{"id":1234567890123456789} | same | {"id":1234567890123456800}
[1.10, 2.0] | same | [1.1,2]
{"error":1,"error":2} | same | {"error":2}
1234567890123456789 | same | same
TXT
