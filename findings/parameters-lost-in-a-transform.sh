#!/usr/bin/env bash
# A server of @modelcontextprotocol/sdk 1.32.2 whose tool takes z.object(…).transform(…), a union, an intersection or a record lists that
# tool as one without parameters, and says nothing; calls are checked against the real schema all the same. So a model is shown a tool that
# takes nothing, and is refused when it calls it so. .refine() loses nothing. @modelcontextprotocol/server 2.4.0 lists all parameters.
#
# Seen on Linux with Node 24 (zod 4.6.7): schema, names of its properties in tools/list of 1.32.2 and of 2.4.0, a call without arguments:
#   refine: city | city | refused
#   transform: none | city | refused
#   union: none | anyOf | refused
#   and: none | city, days | refused
#   record: none | additionalProperties | taken
# Fails if that changes.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
npm init -y > /dev/null
npm install --silent --no-audit --no-fund zod@4.6.7 @modelcontextprotocol/{sdk@1.32.2,client@2.4.0,server@2.4.0} > /dev/null
cat > try.mjs <<'JS'
import { Client, InMemoryTransport as NewMemory } from '@modelcontextprotocol/client';
import { InMemoryTransport as OldMemory } from '@modelcontextprotocol/sdk/inMemory.js';
import { McpServer as OldServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { McpServer as NewServer } from '@modelcontextprotocol/server';
import { z } from 'zod';
const city = z.object({ city: z.string() });
const days = z.object({ days: z.number() });
const schemas = {
  refine: city.refine(({ city }) => city !== ''),
  transform: city.transform(({ city }) => city.toLowerCase()),
  union: z.union([city, days]),
  and: city.and(days),
  record: z.record(z.string(), z.number()),
};
for (const [name, inputSchema] of Object.entries(schemas)) {
  const seen = [];
  let call;
  for (const [McpServer, memory] of [[OldServer, OldMemory], [NewServer, NewMemory]]) {
    const server = new McpServer({ name: 'server', version: '1.0.0' });
    server.registerTool('tool', { inputSchema }, () => ({ content: [] }));
    const client = new Client({ name: 'finding', version: '1.0.0' });
    const [near, far] = memory.createLinkedPair();
    await server.connect(far);
    await client.connect(near);
    const { tools: [{ inputSchema: shown }] } = await client.listTools();
    const rest = ['anyOf', 'additionalProperties'].filter((key) => shown[key] !== undefined);
    seen.push([...Object.keys(shown.properties ?? {}), ...rest].join(', ') || 'none');
    call = (await client.callTool({ name: 'tool', arguments: {} })).isError ? 'refused' : 'taken';
    await client.close();
  }
  console.log(`${name}: ${seen.join(' | ')} | ${call}`);
}
JS
node try.mjs | tee seen
diff - seen <<'TXT'
refine: city | city | refused
transform: none | city | refused
union: none | anyOf | refused
and: none | city, days | refused
record: none | additionalProperties | taken
TXT
