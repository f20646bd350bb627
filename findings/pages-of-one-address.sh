#!/usr/bin/env bash
# Three official example servers of MCP Apps, @modelcontextprotocol/server-basic-{react,vanillajs,preact} 2.0.3, give their pages one address,
# ui://get-time/mcp-app.html, and their tools one name. A ui:// address does not say of which server it is, so whatever shows a client
# several servers as one cannot keep the addresses as they are: the second tool would open the first server's page. Their pages differ.
#
# Seen on Linux with Node 24:
#   each: get-time ui://get-time/mcp-app.html
#   different pages: 3
# Fails if that changes.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
npm init -y > /dev/null
names='react vanillajs preact'
npm install --silent --no-audit --no-fund @modelcontextprotocol/client@2.4.0 \
  $(printf '@modelcontextprotocol/server-basic-%s@2.0.3 ' $names) > /dev/null

cat > try.mjs <<'JS'
import { createHash } from 'node:crypto';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
for (const name of process.argv.slice(2)) {
  const script = `node_modules/@modelcontextprotocol/server-basic-${name}/dist/index.js`;
  const client = new Client({ name: 'finding', version: '1.0.0' });
  await client.connect(new StdioClientTransport({ command: process.execPath, args: [script, '--stdio'] }));
  const { tools } = await client.listTools();
  for (const { name: tool, _meta } of tools) {
    const uri = _meta?.ui?.resourceUri;
    const { contents } = await client.readResource({ uri });
    console.log(tool, uri, createHash('sha256').update(contents[0].text).digest('hex'));
  }
  await client.close();
}
JS

expect() {
  echo "$1: $2"
  if [ "$2" != "$3" ]; then
    echo "changed: it was $3" >&2
    exit 1
  fi
}

seen=$(node try.mjs $names)
expect each "$(cut -d' ' -f1,2 <<< "$seen" | sort -u)" 'get-time ui://get-time/mcp-app.html'
expect 'different pages' "$(cut -d' ' -f3 <<< "$seen" | sort -u | wc -l)" 3
