#!/usr/bin/env bash
# @genkit-ai/mcp 1.42.0 lists tools whose inputSchema names JSON Schema 2020-12, the default dialect of MCP since 2025-11-25, shows them to
# the model, and fails at each call before the server hears of it. @modelcontextprotocol/server 2.4.0 names that dialect in every tool that
# zod describes. So no tool of the official SDK's new version can be called from Genkit, and all of sdk 1.32.2 can: it names draft-07. A
# keyword that Genkit's validator does not know, such as prefixItems, does the same to a single tool.
#
# Seen on Linux with Node 24: tools whose inputSchema comes from zod (4.6.7), and one written by hand:
#   server 2.4.0: listed; no schema with key or ref "https://json-schema.org/draft/2020-12/schema"
#   sdk 1.32.2: listed; called
#   by hand, prefixItems: listed; strict mode: unknown keyword: "prefixItems"
# Fails if that changes.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
npm init -y > /dev/null
npm install --silent --prefer-offline --no-audit --no-fund {genkit,@genkit-ai/mcp}@1.42.0 @modelcontextprotocol/{sdk@1.32.2,server@2.4.0} \
  zod@4.6.7 > /dev/null
cat > server.mjs <<'JS'
import { z } from 'zod';
const [serverModule, serverClass, stdioModule] = process.argv.slice(2);
const { [serverClass]: Server } = await import(serverModule);
const { StdioServerTransport } = await import(stdioModule);
const server = new Server({ name: 'server', version: '1.0.0' }, { capabilities: { tools: {} } });
const answer = () => ({ content: [{ type: 'text', text: 'called' }] });
if (serverClass === 'McpServer') server.registerTool('place', { inputSchema: z.object({ at: z.array(z.number()) }) }, answer);
else {
  const at = { type: 'array', prefixItems: [{ type: 'number' }, { type: 'number' }] };
  server.setRequestHandler('tools/list', () => ({ tools: [{ name: 'place', inputSchema: { type: 'object', properties: { at } } }] }));
  server.setRequestHandler('tools/call', answer);
}
await server.connect(new StdioServerTransport());
JS
cat > try.mjs <<'JS'
import { createMcpClient } from '@genkit-ai/mcp';
import { genkit } from 'genkit';
const ai = genkit({});
const old = '@modelcontextprotocol/sdk/server';
const latest = '@modelcontextprotocol/server';
for (const [name, args] of [
  ['server 2.4.0', [latest, 'McpServer', `${latest}/stdio`]],
  ['sdk 1.32.2', [`${old}/mcp.js`, 'McpServer', `${old}/stdio.js`]],
  ['by hand, prefixItems', [latest, 'Server', `${latest}/stdio`]],
]) {
  const client = createMcpClient({ name: 'server', mcpServer: { command: process.execPath, args: ['server.mjs', ...args] } });
  await client.ready();
  const [place] = await client.getActiveTools(ai);
  const told = await place({ at: [59.9, 10.7] }).catch(({ message }) => message);
  console.log(`${name}: ${place ? 'listed' : 'not listed'}; ${told}`);
  await client.disable();
}
process.exit(0);
JS
node try.mjs | tee seen
diff - seen <<'TXT'
server 2.4.0: listed; no schema with key or ref "https://json-schema.org/draft/2020-12/schema"
sdk 1.32.2: listed; called
by hand, prefixItems: listed; strict mode: unknown keyword: "prefixItems"
TXT
