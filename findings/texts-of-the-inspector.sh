#!/usr/bin/env bash
# @modelcontextprotocol/inspector 2.12.0 with --cli sends a text that looks like JSON as what it looks like, also where the tool's schema
# says string: --tool-arg message=42 sends a number, which the official example server refuses, and an identifier of 20 digits is another
# one. It does read the schema: where that says boolean, "no" becomes false. --tool-args-json sends what is written.
#
# Seen on Linux with Node 24: what the tool gets, whose schema is {"message":{"type":"string"},"flag":{"type":"boolean"}}:
#   message=hello: {"message":"hello"}
#   message=42: {"message":42}
#   message=null: {"message":null}
#   message={"a":1}: {"message":{"a":1}}
#   message=12345678901234567890: {"message":12345678901234567000}
#   flag=no: {"flag":false}
#   {"message":"42"}: {"message":"42"}
#   server-everything 2026.8.31, message=42: refused
#   server-everything 2026.8.31, message=hello: echoed
# Fails if that changes.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
npm init -y > /dev/null
npm install --silent --prefer-offline --no-audit --no-fund @modelcontextprotocol/{inspector@2.12.0,server-everything@2026.8.31} > /dev/null
cat > server.mjs <<'JS'
import { createInterface } from 'node:readline';
const properties = { message: { type: 'string' }, flag: { type: 'boolean' } };
createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method, params } = JSON.parse(line);
  if (id === undefined) return;
  const results = {
    initialize: { protocolVersion: '2025-06-18', capabilities: { tools: {} }, serverInfo: { name: 'server', version: '1.0.0' } },
    'tools/list': { tools: [{ name: 'echo', inputSchema: { type: 'object', properties } }] },
    'tools/call': { content: [{ type: 'text', text: `got ${JSON.stringify(params?.arguments)}` }] },
  };
  const found = results[method];
  console.log(JSON.stringify({ jsonrpc: '2.0', id, ...(found ? { result: found } : { error: { code: -32601, message: 'unknown' } }) }));
});
JS
everything=node_modules/@modelcontextprotocol/server-everything/dist/index.js
# Prints what the tool answers to these options: call SERVER OPTION…
call() {
  HOME=$work npx mcp-inspector --cli node "$1" --method tools/call --tool-name echo "${@:2}" 2>&1 || true
}
# Prints the arguments that our tool got.
got() {
  call server.mjs "$@" | sed -n 's/.*"got \(.*\)".*/\1/p' | tr -d '\\'
}
{
  for argument in message=hello message=42 message=null 'message={"a":1}' message=12345678901234567890 flag=no; do
    echo "$argument: $(got --tool-arg "$argument")"
  done
  echo "{\"message\":\"42\"}: $(got --tool-args-json '{"message":"42"}')"
  for argument in message=42 message=hello; do
    told=$(call $everything --tool-arg "$argument")
    case $told in
      *"Echo: "*) told=echoed ;;
      *"expected string, received number"*) told=refused ;;
    esac
    echo "server-everything 2026.8.31, $argument: $told"
  done
} | tee seen
diff - seen <<'TXT'
message=hello: {"message":"hello"}
message=42: {"message":42}
message=null: {"message":null}
message={"a":1}: {"message":{"a":1}}
message=12345678901234567890: {"message":12345678901234567000}
flag=no: {"flag":false}
{"message":"42"}: {"message":"42"}
server-everything 2026.8.31, message=42: refused
server-everything 2026.8.31, message=hello: echoed
TXT
