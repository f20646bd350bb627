#!/usr/bin/env bash
# A server of @mastra/mcp 2.0.0 speaks revision 2026-07-28 of MCP alone, and refuses initialize. The official client of the new SDK begins
# with initialize unless it is told otherwise, and those of two agent frameworks know nothing else: they fail, though the refusal names the
# revision that the server wants. The reference of MCPServer in the same package says that it speaks the older revisions by default; only the
# page on migration says that it does not.
#
# Seen on Linux with Node 24: what each client gets from a server with the tool "look":
#   sdk 1.32.2: Unsupported protocol version: 2025-11-25
#   client 2.4.0: Unsupported protocol version: 2025-11-25
#   client 2.4.0, mode auto: look
#   ai-sdk 2.0.99: Unsupported protocol version: 2025-11-25
#   langchain 1.1.4: Unsupported protocol version: 2025-11-25
#   openai agents 0.20.0: look
#   mastra 2.0.0: it_look
# Fails if that changes.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
npm init -y > /dev/null
npm install --silent --prefer-offline --no-audit --no-fund --legacy-peer-deps @openai/agents@0.20.0 @ai-sdk/mcp@2.0.99 \
  @mastra/{mcp@2.0.0,core@1.71.0} @langchain/{mcp-adapters@1.1.4,core@1.4.0,langgraph@1.7.3} @modelcontextprotocol/{sdk@1.32.2,client@2.4.0} zod@4.6.7 > /dev/null
cat > server.mjs <<'JS'
import { createTool } from '@mastra/core/tools';
import { MCPServer } from '@mastra/mcp';
import { z } from 'zod';
const look = createTool({ id: 'look', description: 'Looks.', inputSchema: z.object({}), execute: async () => 'seen' });
await new MCPServer({ name: 'it', version: '1.0.0', tools: { look } }).startStdio();
JS
cat > try.mjs <<'JS'
import { createMCPClient } from '@ai-sdk/mcp';
import { Experimental_StdioMCPTransport as AiTransport } from '@ai-sdk/mcp/mcp-stdio';
import { MultiServerMCPClient } from '@langchain/mcp-adapters';
import { MCPClient } from '@mastra/mcp';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { Client as OlderClient } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport as OlderTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { MCPServerStdio } from '@openai/agents';
const command = { command: process.execPath, args: ['server.mjs'], stderr: 'ignore' };
const me = { name: 'finding', version: '1.0.0' };
async function listed(client, transport) {
  await client.connect(transport);
  return (await client.listTools()).tools;
}
const ways = {
  'sdk 1.32.2': () => listed(new OlderClient(me), new OlderTransport(command)),
  'client 2.4.0': () => listed(new Client(me), new StdioClientTransport(command)),
  'client 2.4.0, mode auto': () =>
    listed(new Client(me, { versionNegotiation: { mode: 'auto' } }), new StdioClientTransport(command)),
  'ai-sdk 2.0.99': async () => (await (await createMCPClient({ transport: new AiTransport(command) })).listTools()).tools,
  'langchain 1.1.4': () => new MultiServerMCPClient({ mcpServers: { it: { transport: 'stdio', ...command } } }).getTools(),
  'openai agents 0.20.0': async () => {
    const server = new MCPServerStdio(command);
    await server.connect();
    return server.listTools();
  },
  'mastra 2.0.0': async () =>
    Object.keys(await new MCPClient({ servers: { it: command } }).listTools()).map((name) => ({ name })),
};
for (const [name, list] of Object.entries(ways)) {
  const told = await list().then(
    (tools) => tools.map((tool) => tool.name).join(', '),
    ({ message }) => /Unsupported protocol version: [\d-]+/.exec(message)?.[0] ?? message,
  );
  console.log(`${name}: ${told}`);
}
process.exit(0);
JS
node try.mjs 2> /dev/null | grep -E '^(sdk|client|ai-sdk|openai agents|langchain|mastra) ' | tee seen
diff - seen <<'TXT'
sdk 1.32.2: Unsupported protocol version: 2025-11-25
client 2.4.0: Unsupported protocol version: 2025-11-25
client 2.4.0, mode auto: look
ai-sdk 2.0.99: Unsupported protocol version: 2025-11-25
langchain 1.1.4: Unsupported protocol version: 2025-11-25
openai agents 0.20.0: look
mastra 2.0.0: it_look
TXT
