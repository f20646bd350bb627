#!/usr/bin/env bash
# A server of the official SDK checks the structuredContent of its tools with zod and sends it as it is; the client of the same SDK checks it
# again, with ajv against the JSON Schema that zod wrote. The two disagree, so results that passed the first check are refused by the second,
# in 1.32.2 and in 2.4.0: the call has run, and its caller gets an exception. Each line is a value, and what the client says of it.
#
# Seen on Linux with Node 24 (zod 4.6.7), in both:
#   multipleOf(0.1) 0.3: must be multiple of 0.1
#   regex(/^[a-f]+$/i) "ABC": must match pattern "^[a-f]+$"
#   iso.duration() "PT1.5S": must match format "duration"
#   url() "https://example.com/ä": must match format "uri"
#   default("x") undefined: must have required property 'v'
#   object({ a }) {"a":"x","b":1}: must NOT have additional properties
#   multipleOf(0.1) 0.2: taken
# Fails if that changes.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
npm init -y > /dev/null
npm install --silent --no-audit --no-fund zod@4.6.7 @modelcontextprotocol/{sdk@1.32.2,client@2.4.0,server@2.4.0} > /dev/null
cat > try.mjs <<'JS'
import { z } from 'zod';
const [serverModule, clientModule, memory] = process.argv.slice(2);
const { McpServer } = await import(serverModule);
const { Client } = await import(clientModule);
const { InMemoryTransport } = await import(memory);
const outputs = [
  ['multipleOf(0.1)', z.number().multipleOf(0.1), 0.3],
  ['regex(/^[a-f]+$/i)', z.string().regex(/^[a-f]+$/i), 'ABC'],
  ['iso.duration()', z.iso.duration(), 'PT1.5S'],
  ['url()', z.url(), 'https://example.com/ä'],
  ['default("x")', z.string().default('x'), undefined],
  ['object({ a })', z.object({ a: z.string() }), { a: 'x', b: 1 }],
  ['multipleOf(0.1)', z.number().multipleOf(0.1), 0.2],
];
for (const [text, v, value] of outputs) {
  const server = new McpServer({ name: 'server', version: '1.0.0' });
  server.registerTool('tool', { outputSchema: z.object({ v }) }, () => ({ content: [], structuredContent: { v: value } }));
  const client = new Client({ name: 'finding', version: '1.0.0' });
  const [near, far] = InMemoryTransport.createLinkedPair();
  await server.connect(far);
  await client.connect(near);
  await client.listTools();
  const told = await client.callTool({ name: 'tool', arguments: {} }).then(
    ({ isError }) => (isError ? 'refused by the server' : 'taken'),
    ({ message }) => /must .*/.exec(message)?.[0] ?? message,
  );
  console.log(`${text} ${JSON.stringify(value)}: ${told}`);
  await client.close();
}
JS
sdk=@modelcontextprotocol/sdk new=@modelcontextprotocol
node try.mjs $sdk/server/mcp.js $sdk/client/index.js $sdk/inMemory.js | tee seen
node try.mjs $new/server $new/client $new/client > seen.new
diff seen seen.new
diff - seen <<'TXT'
multipleOf(0.1) 0.3: must be multiple of 0.1
regex(/^[a-f]+$/i) "ABC": must match pattern "^[a-f]+$"
iso.duration() "PT1.5S": must match format "duration"
url() "https://example.com/ä": must match format "uri"
default("x") undefined: must have required property 'v'
object({ a }) {"a":"x","b":1}: must NOT have additional properties
multipleOf(0.1) 0.2: taken
TXT
