#!/usr/bin/env bash
# A tool that returns nothing, as one that deletes something does, ends with a JSON-RPC error in a server of @mastra/mcp 2.0.0 or
# @genkit-ai/mcp 1.42.0: of invalid parameters, after it has run. So a model is told that it called the tool wrongly, and calls again. Where
# null is returned it succeeds. A result of MCP may be empty, and fastmcp 4.20.16 gives one.
#
# Seen on Linux with Node 24, by the official client: what the tool returns, how often it ran in one call, and what its caller got:
#   mastra, undefined: ran 1 time; error -32602
#   mastra, null: ran 1 time; null
#   genkit, undefined: ran 1 time; error -32602
#   genkit, null: ran 1 time; null
#   fastmcp, undefined: ran 1 time; an empty result
# Fails if that changes.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
npm init -y > /dev/null
npm install --silent --prefer-offline --no-audit --no-fund --legacy-peer-deps @mastra/{mcp@2.0.0,core@1.71.0} genkit@1.42.0 \
  @genkit-ai/mcp@1.42.0 fastmcp@4.20.16 @modelcontextprotocol/{sdk@1.32.2,client@2.4.0} zod@4.6.7 > /dev/null
cat > mastra.mjs <<'JS'
import { appendFileSync } from 'node:fs';
import { createTool } from '@mastra/core/tools';
import { MCPServer } from '@mastra/mcp';
import { z } from 'zod';
const results = { undefined, null: null };
const execute = (id) => async () => (appendFileSync(`mastra ${id}`, '.'), results[id]);
const toolOf = (id) => createTool({ id, description: id, inputSchema: z.object({}), execute: execute(id) });
const tools = { undefined: toolOf('undefined'), null: toolOf('null') };
await new MCPServer({ name: 'it', version: '1.0.0', tools }).startStdio();
JS
cat > genkit.mjs <<'JS'
import { appendFileSync } from 'node:fs';
import { createMcpServer } from '@genkit-ai/mcp';
import { genkit, z } from 'genkit';
const ai = genkit({});
for (const [name, result] of Object.entries({ undefined, null: null }))
  ai.defineTool({ name, description: name, inputSchema: z.object({}) }, async () => (appendFileSync(`genkit ${name}`, '.'), result));
await createMcpServer(ai, { name: 'it', version: '1.0.0' }).start();
JS
cat > fastmcp.mjs <<'JS'
import { appendFileSync } from 'node:fs';
import { FastMCP } from 'fastmcp';
const server = new FastMCP({ name: 'it', version: '1.0.0' });
server.addTool({ name: 'undefined', description: 'it', execute: async () => appendFileSync('fastmcp undefined', '.') });
await server.start({ transportType: 'stdio' });
JS
cat > try.mjs <<'JS'
import { existsSync, readFileSync } from 'node:fs';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
for (const [framework, ...names] of [['mastra', 'undefined', 'null'], ['genkit', 'undefined', 'null'], ['fastmcp', 'undefined']]) {
  const client = new Client({ name: 'finding', version: '1.0.0' }, { versionNegotiation: { mode: 'auto' } });
  await client.connect(new StdioClientTransport({ command: process.execPath, args: [`${framework}.mjs`], stderr: 'ignore' }));
  for (const name of names) {
    const told = await client.callTool({ name, arguments: {} }).then(
      ({ content: [first] }) => first?.text ?? 'an empty result',
      ({ code }) => `error ${code}`,
    );
    const file = `${framework} ${name}`;
    const ran = existsSync(file) ? readFileSync(file, 'utf8').length : 0;
    console.log(`${framework}, ${name}: ran ${ran} ${ran === 1 ? 'time' : 'times'}; ${told}`);
  }
  await client.close();
}
process.exit(0);
JS
node try.mjs 2> /dev/null | grep -E '^(mastra|genkit|fastmcp), ' | tee seen
diff - seen <<'TXT'
mastra, undefined: ran 1 time; error -32602
mastra, null: ran 1 time; null
genkit, undefined: ran 1 time; error -32602
genkit, null: ran 1 time; null
fastmcp, undefined: ran 1 time; an empty result
TXT
