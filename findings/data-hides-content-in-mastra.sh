#!/usr/bin/env bash
# A tool of @mastra/mcp 2.0.0 gives its agent only the structuredContent of a result, if there is one. The texts and images beside it are
# gone, also where they say what the data do not: MCP advises servers to repeat the data as a text, and forbids none to add more. The
# adapters of LangChain and Strands keep the content of the same result, with the image.
#
# Seen on Linux with Node 24, for a result of one number with a remark and a picture; each line: what the client's tool returns:
#   mastra: {"celsius":21}
#   langchain: text, image_url
#   strands: text, image
# Fails if that changes.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
npm init -y > /dev/null
npm install --silent --prefer-offline --no-audit --no-fund --legacy-peer-deps @mastra/{mcp@2.0.0,core@1.71.0} \
  @langchain/{mcp-adapters@1.1.4,core,langgraph} @strands-agents/sdk@1.19.0 @opentelemetry/api @modelcontextprotocol/sdk@1.32.2 zod@4 > /dev/null
cat > server.mjs <<'JS'
import { createInterface } from 'node:readline';
const outputSchema = { type: 'object', properties: { celsius: { type: 'number' } }, required: ['celsius'] };
const text = { type: 'text', text: 'The sensor was cleaned today: trust no value before noon.' };
const image = { type: 'image', data: 'iVBORw0KGgo=', mimeType: 'image/png' };
createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method } = JSON.parse(line);
  if (id === undefined) return;
  const results = {
    initialize: { protocolVersion: '2025-06-18', capabilities: { tools: {} }, serverInfo: { name: 'it', version: '1.0.0' } },
    'tools/list': { tools: [{ name: 'read', description: 'Reads.', inputSchema: { type: 'object' }, outputSchema }] },
    'tools/call': { content: [text, image], structuredContent: { celsius: 21 } },
  };
  const found = results[method];
  console.log(JSON.stringify({ jsonrpc: '2.0', id, ...(found ? { result: found } : { error: { code: -32601, message: 'unknown' } }) }));
});
JS
cat > try.mjs <<'JS'
import { MultiServerMCPClient } from '@langchain/mcp-adapters';
import { MCPClient } from '@mastra/mcp';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { McpClient } from '@strands-agents/sdk';
const server = { command: process.execPath, args: ['server.mjs'] };
const mastra = await new MCPClient({ servers: { it: server } }).listTools();
console.log('mastra:', JSON.stringify(await mastra.it_read.execute({}, {})));
const [langchain] = await new MultiServerMCPClient({ mcpServers: { it: { transport: 'stdio', ...server } } }).getTools();
const message = await langchain.invoke({ name: 'read', args: {}, id: '1', type: 'tool_call' });
console.log('langchain:', message.content.map(({ type }) => type).join(', '));
const [strands] = await new McpClient({ transport: new StdioClientTransport(server) }).listTools();
const steps = strands.stream({ toolUse: { name: 'read', toolUseId: '1', input: {} }, agent: { state: {} }, invocationState: {} });
let step = await steps.next();
while (!step.done) step = await steps.next();
const { content } = JSON.parse(JSON.stringify(step.value)).toolResult;
console.log('strands:', content.flatMap(Object.keys).join(', '));
process.exit(0);
JS
node try.mjs 2> /dev/null | grep -E '^(mastra|langchain|strands): ' | tee seen
diff - seen <<'TXT'
mastra: {"celsius":21}
langchain: text, image_url
strands: text, image
TXT
