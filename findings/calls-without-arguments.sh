#!/usr/bin/env bash
# In MCP arguments are optional, in tools/call and prompts/get, and official clients leave them out if their caller gives none. A tool or a
# prompt of tmcp 1.20.0 whose arguments are all optional refuses that: undefined is no object. So does a tool of @genkit-ai/mcp 1.42.0, with
# a code of HTTP. A prompt of fastmcp 4.20.16 fails with the words of a TypeError where its function takes its arguments apart, as in
# fastmcp's own examples; its tools do not. With {} all of them work, and the official SDK's servers take both.
#
# Seen on Linux with Node 24, of a tool and a prompt with one optional argument: what became of a call without arguments, and with {}:
#   tmcp, tool: refused, expected object, received undefined; with {} taken
#   tmcp, prompt: refused, expected object, received undefined; with {} taken
#   genkit, tool: refused, must be object; with {} taken
#   fastmcp, tool: taken; with {} taken
#   fastmcp, prompt: refused, Cannot destructure property 'q' of 'undefined' as it is undefined.; with {} taken
#   sdk 1.32.2, tool: taken; with {} taken
#   sdk 1.32.2, prompt: taken; with {} taken
# Fails if that changes.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
npm init -y > /dev/null
npm install --silent --prefer-offline --no-audit --no-fund tmcp@1.20.0 @tmcp/{transport-stdio@0.5.0,adapter-zod@0.1.7} fastmcp@4.20.16 \
  genkit@1.42.0 @genkit-ai/mcp@1.42.0 zod@4.6.7 @modelcontextprotocol/{sdk@1.32.2,client@2.4.0} > /dev/null
cat > tmcp.mjs <<'JS'
import { ZodJsonSchemaAdapter } from '@tmcp/adapter-zod';
import { StdioTransport } from '@tmcp/transport-stdio';
import { McpServer } from 'tmcp';
import { z } from 'zod';
const schema = z.object({ q: z.string().optional() });
const options = { adapter: new ZodJsonSchemaAdapter(), capabilities: { tools: {}, prompts: {} } };
const server = new McpServer({ name: 'it', version: '1.0.0' }, options);
const content = { type: 'text', text: 'taken' };
server.tool({ name: 'it', description: 'it', schema }, () => ({ content: [content] }));
server.prompt({ name: 'it', description: 'it', schema }, () => ({ messages: [{ role: 'user', content }] }));
new StdioTransport(server).listen();
JS
cat > genkit.mjs <<'JS'
import { createMcpServer } from '@genkit-ai/mcp';
import { genkit, z } from 'genkit';
const ai = genkit({});
ai.defineTool({ name: 'it', description: 'it', inputSchema: z.object({ q: z.string().optional() }) }, async () => 'taken');
await createMcpServer(ai, { name: 'it', version: '1.0.0' }).start();
JS
cat > fastmcp.mjs <<'JS'
import { FastMCP } from 'fastmcp';
import { z } from 'zod';
const server = new FastMCP({ name: 'it', version: '1.0.0' });
const parameters = z.object({ q: z.string().optional() });
server.addTool({ name: 'it', description: 'it', parameters, execute: async ({ q }) => `taken${q ?? ''}` });
const q = { name: 'q', description: 'q', required: false };
server.addPrompt({ name: 'it', arguments: [q], load: async ({ q }) => `taken${q ?? ''}` });
await server.start({ transportType: 'stdio' });
JS
cat > 'sdk 1.32.2.mjs' <<'JS'
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import { z } from 'zod';
const shape = { q: z.string().optional() };
const server = new McpServer({ name: 'it', version: '1.0.0' });
const content = { type: 'text', text: 'taken' };
server.registerTool('it', { inputSchema: shape }, () => ({ content: [content] }));
server.registerPrompt('it', { argsSchema: shape }, () => ({ messages: [{ role: 'user', content }] }));
await server.connect(new StdioServerTransport());
JS
cat > try.mjs <<'JS'
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
for (const name of ['tmcp', 'genkit', 'fastmcp', 'sdk 1.32.2']) {
  const client = new Client({ name: 'finding', version: '1.0.0' });
  await client.connect(new StdioClientTransport({ command: process.execPath, args: [`${name}.mjs`], stderr: 'ignore' }));
  const ways = {
    tool: async (given) => (await client.callTool({ name: 'it', ...given })).content[0].text,
    prompt: async (given) => (await client.getPrompt({ name: 'it', ...given })).messages[0].content.text,
  };
  for (const [way, call] of Object.entries(ways)) {
    if (name === 'genkit' && way === 'prompt') continue;
    const told = async (given) => {
      const text = await call(given).catch(({ message }) => message);
      return text === 'taken' ? text : `refused, ${/expected object, received undefined|must be object|Cannot.*/.exec(text)?.[0]}`;
    };
    console.log(`${name}, ${way}: ${await told({})}; with {} ${await told({ arguments: {} })}`);
  }
  await client.close();
}
JS
node try.mjs 2> /dev/null | tee seen
diff - seen <<'TXT'
tmcp, tool: refused, expected object, received undefined; with {} taken
tmcp, prompt: refused, expected object, received undefined; with {} taken
genkit, tool: refused, must be object; with {} taken
fastmcp, tool: taken; with {} taken
fastmcp, prompt: refused, Cannot destructure property 'q' of 'undefined' as it is undefined.; with {} taken
sdk 1.32.2, tool: taken; with {} taken
sdk 1.32.2, prompt: taken; with {} taken
TXT
