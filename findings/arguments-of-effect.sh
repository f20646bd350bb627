#!/usr/bin/env bash
# A server that effect 4.1.0 makes of a toolkit (McpServer.toolkit) lists each parameter as its JSON codec would write it, and reads calls
# without that codec. So a parameter that is a Date, a URL, a bigint or a set is listed as a text or an array, and no call of that tool can
# succeed: JSON has no Date. One that may be left out is listed as one that may be null, and null is refused; so is the "NaN" that is listed
# for each number. Schema.DateTimeUtcFromString and the like, which name their text themselves, work.
#
# Seen on Linux with Node 24: the parameter's schema in effect, in the list, and what became of a call that fits the list:
#   Date: {"type":"string"}; "2026-01-01T00:00:00.000Z" is refused, Expected a valid Date
#   URL: {"type":"string"}; "https://example.com/" is refused, Expected URL
#   BigInt: {"type":"string","pattern":"^-?\\d+$"}; "12" is refused, Expected bigint
#   ReadonlySet: {"type":"array","items":{"type":"string"}}; ["a"] is refused, Expected ReadonlySet
#   optional: {"anyOf":[{"type":"string"},{"type":"null"}]}; null is refused, Expected string | undefined
#   Number: {"anyOf":[{"type":"number"},{"type":"string","enum":["Infinity","-Infinity","NaN"]}]}; "NaN" is refused, Expected number
#   DateTimeUtcFromString: {"type":"string"}; "2026-01-01T00:00:00.000Z" is taken
# Fails if that changes.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
npm init -y > /dev/null
npm install --silent --prefer-offline --no-audit --no-fund effect@4.1.0 @effect/platform-node@4.1.0 \
  @modelcontextprotocol/client@2.4.0 > /dev/null
cat > server.mjs <<'JS'
import { NodeRuntime, NodeStdio } from '@effect/platform-node';
import { Effect, Layer, Schema } from 'effect';
import { McpProtocol, McpServer, Tool, Toolkit } from 'effect/ai';
const kinds = {
  Date: Schema.Date,
  URL: Schema.URL,
  BigInt: Schema.BigInt,
  ReadonlySet: Schema.ReadonlySet(Schema.String),
  optional: Schema.optional(Schema.String),
  Number: Schema.Number,
  DateTimeUtcFromString: Schema.DateTimeUtcFromString,
};
const tools = Object.entries(kinds).map(([name, v]) =>
  Tool.make(name, { description: name, parameters: Schema.Struct({ v }), success: Schema.String }));
const kit = Toolkit.make(...tools);
const handlers = kit.toLayer(Object.fromEntries(tools.map(({ name }) => [name, () => Effect.succeed('taken')])));
const layer = McpServer.layerStdio({
  name: 'it',
  version: '1.0.0',
  protocols: [McpProtocol.v2025_11_25],
  registrations: McpServer.toolkit(kit).pipe(Layer.provide(handlers)),
}).pipe(Layer.provide(NodeStdio.layer));
Layer.launch(layer).pipe(NodeRuntime.runMain);
JS
cat > try.mjs <<'JS'
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
const moment = '2026-01-01T00:00:00.000Z';
const values = {
  Date: moment,
  URL: 'https://example.com/',
  BigInt: '12',
  ReadonlySet: ['a'],
  optional: null,
  Number: 'NaN',
  DateTimeUtcFromString: moment,
};
const client = new Client({ name: 'finding', version: '1.0.0' });
await client.connect(new StdioClientTransport({ command: process.execPath, args: ['server.mjs'] }));
const { tools } = await client.listTools();
for (const [name, v] of Object.entries(values)) {
  const { description, ...listed } = tools.find((tool) => tool.name === name).inputSchema.properties.v;
  const { content, isError } = await client.callTool({ name, arguments: { v } });
  const told = isError ? `refused, ${/: (Expected.*)/.exec(content[0].text)?.[1]}` : content[0].text;
  console.log(`${name}: ${JSON.stringify(listed)}; ${JSON.stringify(v)} is ${told}`);
}
process.exit(0);
JS
node try.mjs 2> /dev/null | tee seen
diff - seen <<'TXT'
Date: {"type":"string"}; "2026-01-01T00:00:00.000Z" is refused, Expected a valid Date
URL: {"type":"string"}; "https://example.com/" is refused, Expected URL
BigInt: {"type":"string","pattern":"^-?\\d+$"}; "12" is refused, Expected bigint
ReadonlySet: {"type":"array","items":{"type":"string"}}; ["a"] is refused, Expected ReadonlySet
optional: {"anyOf":[{"type":"string"},{"type":"null"}]}; null is refused, Expected string | undefined
Number: {"anyOf":[{"type":"number"},{"type":"string","enum":["Infinity","-Infinity","NaN"]}]}; "NaN" is refused, Expected number
DateTimeUtcFromString: {"type":"string"}; "2026-01-01T00:00:00.000Z" is taken
TXT
