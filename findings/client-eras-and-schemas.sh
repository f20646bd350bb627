#!/usr/bin/env bash
# One and the same list of tools is read or refused as a whole by @modelcontextprotocol/client 2.4.0, depending on the revision of the
# connection. A tool whose inputSchema has `properties: null` is no tool to it on a connection of 2025-11-25, and tools/list fails with all
# tools; on one of 2026-07-28 it takes the tool as it is.
#
# Seen on Linux with Node 24:
#   2025-11-25: refused, inputSchema.properties
#   2026-07-28: good, odd
# Fails if that changes.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
npm init -y > /dev/null
npm install --silent --no-audit --no-fund @modelcontextprotocol/client@2.4.0 > /dev/null
cat > server.mjs <<'JS'
import { createInterface } from 'node:readline';
const [revision] = process.argv.slice(2);
const isNew = revision === '2026-07-28';
const tools = [
  { name: 'good', inputSchema: { type: 'object' } },
  { name: 'odd', inputSchema: { type: 'object', properties: null } },
];
const about = { capabilities: { tools: {} }, serverInfo: { name: 'odd', version: '1' } };
const rest = isNew ? { resultType: 'complete', ttlMs: 0, cacheScope: 'private' } : {};
const answers = {
  ...(isNew ? { 'server/discover': { supportedVersions: [revision], ...about } } : { initialize: { protocolVersion: revision, ...about } }),
  'tools/list': { tools },
};
createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method } = JSON.parse(line);
  if (id === undefined) return;
  const outcome = answers[method] ? { result: { ...rest, ...answers[method] } } : { error: { code: -32601, message: `no ${method}` } };
  console.log(JSON.stringify({ jsonrpc: '2.0', id, ...outcome }));
});
JS
cat > try.mjs <<'JS'
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
for (const revision of ['2025-11-25', '2026-07-28']) {
  const client = new Client({ name: 'try', version: '1' }, { versionNegotiation: { mode: 'auto' } });
  await client.connect(new StdioClientTransport({ command: process.execPath, args: ['server.mjs', revision] }));
  try {
    const { tools } = await client.listTools();
    console.log(`${revision}: ${tools.map(({ name }) => name).join(', ')}`);
  } catch (error) {
    console.log(`${revision}: refused, ${/inputSchema[^a-z]+properties/s.test(error.message) ? 'inputSchema.properties' : error.message}`);
  }
  await client.close();
}
JS
node try.mjs | tee seen
diff - seen <<'TXT'
2025-11-25: refused, inputSchema.properties
2026-07-28: good, odd
TXT
