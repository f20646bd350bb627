#!/usr/bin/env bash
# read_text_file of the official @modelcontextprotocol/server-filesystem 2026.8.31 with tail: N, "returns only the last N lines", returns one
# line fewer for a file that ends with a line feed, as text files do: it counts the nothing after it as a line. So the last line of a log is
# empty to an agent. head: N is right.
#
# Seen on Linux with Node 24, for files of "1\n2\n3" with and without a line feed at the end:
#   with: tail 1 "", tail 2 "3\n", head 1 "1"
#   without: tail 1 "3", tail 2 "2\n3", head 1 "1"
# Fails if that changes.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
npm init -y > /dev/null
npm install --silent --no-audit --no-fund @modelcontextprotocol/{client@2.4.0,server-filesystem@2026.8.31} > /dev/null
cat > try.mjs <<'JS'
import { mkdirSync, realpathSync, writeFileSync } from 'node:fs';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
mkdirSync('files');
const folder = realpathSync('files');
const args = ['node_modules/@modelcontextprotocol/server-filesystem/dist/index.js', folder];
const client = new Client({ name: 'finding', version: '1.0.0' });
await client.connect(new StdioClientTransport({ command: process.execPath, args, stderr: 'ignore' }));
for (const [name, text] of [['with', '1\n2\n3\n'], ['without', '1\n2\n3']]) {
  const path = `${folder}/${name}`;
  writeFileSync(path, text);
  const told = [];
  for (const [key, lines] of [['tail', 1], ['tail', 2], ['head', 1]]) {
    const { content } = await client.callTool({ name: 'read_text_file', arguments: { path, [key]: lines } });
    told.push(`${key} ${lines} ${JSON.stringify(content[0].text)}`);
  }
  console.log(`${name}: ${told.join(', ')}`);
}
await client.close();
JS
node try.mjs | tee seen
diff - seen <<'TXT'
with: tail 1 "", tail 2 "3\n", head 1 "1"
without: tail 1 "3", tail 2 "2\n3", head 1 "1"
TXT
