#!/usr/bin/env bash
# The UriTemplate of the official SDK (1.32.2, and the same in 2.4.0) expands templates by RFC 6570, and a server of the same SDK does not
# know the addresses that come out. A template with {?from,to} answers only if both are there, in that order, though leaving one out is what
# the form is for; and a value reaches the server still percent-encoded, although expand() encoded it.
#
# Seen on Linux with Node 24, for log://{name}{?from,to}; each line: the values, the expansion, the values that the server gets:
#   {"name":"a b","from":"1","to":"2"} log://a%20b?from=1&to=2 {"name":"a%20b","from":"1","to":"2"}
#   {"name":"a","from":"1"} log://a?from=1 not found
#   {"name":"a","to":"2"} log://a?to=2 not found
#   {"name":"a"} log://a not found
# Fails if that changes.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
npm init -y > /dev/null
npm install --silent --no-audit --no-fund @modelcontextprotocol/{sdk@1.32.2,client@2.4.0,server@2.4.0} > /dev/null
cat > try.mjs <<'JS'
const [serverModule, clientModule, memory] = process.argv.slice(2);
const { McpServer, ResourceTemplate } = await import(serverModule);
const { Client } = await import(clientModule);
const { InMemoryTransport } = await import(memory);
const template = new ResourceTemplate('log://{name}{?from,to}', { list: undefined });
const server = new McpServer({ name: 'server', version: '1.0.0' });
server.registerResource('log', template, {}, ({ href }, values) => ({ contents: [{ uri: href, text: JSON.stringify(values) }] }));
const client = new Client({ name: 'finding', version: '1.0.0' });
const [near, far] = InMemoryTransport.createLinkedPair();
await server.connect(far);
await client.connect(near);
for (const values of [{ name: 'a b', from: '1', to: '2' }, { name: 'a', from: '1' }, { name: 'a', to: '2' }, { name: 'a' }]) {
  const uri = template.uriTemplate.expand(values);
  const told = await client.readResource({ uri }).then(
    ({ contents }) => contents[0].text,
    ({ message }) => /not found/i.exec(message)?.[0].toLowerCase() ?? message,
  );
  console.log(JSON.stringify(values), uri, told);
}
await client.close();
JS
sdk=@modelcontextprotocol/sdk new=@modelcontextprotocol
node try.mjs $sdk/server/mcp.js $sdk/client/index.js $sdk/inMemory.js | tee seen
node try.mjs $new/server $new/client $new/client > seen.new
diff seen seen.new
diff - seen <<'TXT'
{"name":"a b","from":"1","to":"2"} log://a%20b?from=1&to=2 {"name":"a%20b","from":"1","to":"2"}
{"name":"a","from":"1"} log://a?from=1 not found
{"name":"a","to":"2"} log://a?to=2 not found
{"name":"a"} log://a not found
TXT
