#!/usr/bin/env bash
# A resource template of tmcp 1.20.0 that ends in {?…}, the form of RFC 6570 for what may be left out, gives its function other values than
# the address has: the one in front of the question mark is empty, and of what stands behind it only one value arrives, or none. The server
# finds the template and answers, so that its client reads another thing than it asked for. Without {?…} the same value arrives, decoded.
#
# Seen on Linux with Node 24: each line a template, an address that fits it, and the values that the function gets:
#   log://{name} log://a%20b {"name":"a b"}
#   log://{name}{?from,to} log://a {"name":""}
#   log://{name}{?from,to} log://a?from=1 {"name":""}
#   log://{name}{?from,to} log://a?from=1&to=2 {"name":"","to":"2"}
#   logs://all{?from} logs://all?from=1 {"from":"1"}
# Fails if that changes.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
npm init -y > /dev/null
npm install --silent --prefer-offline --no-audit --no-fund tmcp@1.20.0 @tmcp/transport-stdio@0.5.0 uri-template-matcher@1.1.2 \
  @modelcontextprotocol/client@2.4.0 > /dev/null
cat > server.mjs <<'JS'
import { StdioTransport } from '@tmcp/transport-stdio';
import { McpServer } from 'tmcp';
const server = new McpServer({ name: 'it', version: '1.0.0' }, { capabilities: { resources: {} } });
server.template({ name: 'it', description: 'it', uri: process.argv[2] }, (uri, values) => (
  { contents: [{ uri, text: JSON.stringify(values) }] }
));
new StdioTransport(server).listen();
JS
cat > try.mjs <<'JS'
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
for (const [template, uri] of [
  ['log://{name}', 'log://a%20b'],
  ['log://{name}{?from,to}', 'log://a'],
  ['log://{name}{?from,to}', 'log://a?from=1'],
  ['log://{name}{?from,to}', 'log://a?from=1&to=2'],
  ['logs://all{?from}', 'logs://all?from=1'],
]) {
  const client = new Client({ name: 'finding', version: '1.0.0' });
  await client.connect(new StdioClientTransport({ command: process.execPath, args: ['server.mjs', template] }));
  const { contents } = await client.readResource({ uri });
  console.log(template, uri, contents[0].text);
  await client.close();
}
JS
node try.mjs 2> /dev/null | tee seen
diff - seen <<'TXT'
log://{name} log://a%20b {"name":"a b"}
log://{name}{?from,to} log://a {"name":""}
log://{name}{?from,to} log://a?from=1 {"name":""}
log://{name}{?from,to} log://a?from=1&to=2 {"name":"","to":"2"}
logs://all{?from} logs://all?from=1 {"from":"1"}
TXT
