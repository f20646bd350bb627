#!/usr/bin/env bash
# mcp-framework 0.2.22 translates a tool's zod schema into JSON Schema by itself, and whatever it does not know is a required string: a record,
# a tuple, a union, any value. It checks calls against the zod schema, so that the call which fits the list is refused, and the one which it
# takes does not fit the list. What a tool returns is written as JSON, also if it is a text: the model reads it in quotes, in one line.
#
# Seen on Linux with Node 24: a parameter's zod type, its schema in the list, whether a text is taken, and whether the right value is:
#   string: {"type":"string"}; a text is taken, "a" is taken
#   record: {"type":"string"}; a text is refused, {"a":1} is taken
#   tuple: {"type":"string"}; a text is refused, [1,2] is taken
#   numberOrNumbers: {"type":"string"}; a text is refused, 1 is taken
#   the text of a tool that returns "two\nlines": "two\nlines"
# Fails if that changes.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
npm init -y > /dev/null
npm install --silent --prefer-offline --no-audit --no-fund mcp-framework@0.2.22 zod@3.25.76 @modelcontextprotocol/{sdk@1.32.2,client@2.4.0} > /dev/null
mkdir dist
cat > server.mjs <<'JS'
import { MCPServer, MCPTool } from 'mcp-framework';
import { z } from 'zod';
const types = {
  string: z.string(),
  record: z.record(z.string(), z.number()),
  tuple: z.tuple([z.number(), z.number()]),
  numberOrNumbers: z.union([z.number(), z.array(z.number())]),
};
const server = new MCPServer({ name: 'it', version: '1.0.0', basePath: `${process.cwd()}/dist` });
for (const [type, schema] of Object.entries(types)) {
  server.addTool(
    class extends MCPTool {
      name = type;
      description = 'Takes one value.';
      schema = z.object({ it: schema.describe('The value.') });
      execute = async () => 'two\nlines';
    },
  );
}
await server.start();
JS
cat > try.mjs <<'JS'
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
const client = new Client({ name: 'finding', version: '1.0.0' });
await client.connect(new StdioClientTransport({ command: process.execPath, args: ['server.mjs'], stderr: 'ignore' }));
const call = (name, it) => client.callTool({ name, arguments: { it } });
const taken = async (name, it) => ((await call(name, it).catch(() => ({ isError: true }))).isError ? 'refused' : 'taken');
const { tools } = await client.listTools();
for (const [name, value] of Object.entries({ string: 'a', record: { a: 1 }, tuple: [1, 2], numberOrNumbers: 1 })) {
  const { description, ...schema } = tools.find((tool) => tool.name === name).inputSchema.properties.it;
  const right = `${JSON.stringify(value)} is ${await taken(name, value)}`;
  console.log(`${name}: ${JSON.stringify(schema)}; a text is ${await taken(name, 'a')}, ${right}`);
}
console.log(`the text of a tool that returns "two\\nlines": ${(await call('string', 'a')).content[0].text}`);
process.exit(0);
JS
node try.mjs 2> /dev/null | tee seen
diff - seen <<'TXT'
string: {"type":"string"}; a text is taken, "a" is taken
record: {"type":"string"}; a text is refused, {"a":1} is taken
tuple: {"type":"string"}; a text is refused, [1,2] is taken
numberOrNumbers: {"type":"string"}; a text is refused, 1 is taken
the text of a tool that returns "two\nlines": "two\nlines"
TXT
