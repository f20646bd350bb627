#!/usr/bin/env bash
# mcporter 0.12.3 calls tools from a shell, and its arguments have not always the type that the tool's schema gives them, though it reads it: an
# integer above 2^53 is sent as a text, and a text that reads true, null or {"a":1} as a value. A flag is sent under another name than it was
# typed, so that one for due-date sets dueDate, and nobody says that there is none. A result that is JSON is printed as JavaScript reads it:
# identifiers above 2^53 change.
#
# Seen on Linux with Node 24, by a tool whose id is an integer and whose due-date and title are texts: typed, and what the tool was called
# with; and the last line, what a tool's text and the printed result were:
#   id=123: {"id":123}
#   id=1234567890123456789: {"id":"1234567890123456789"}
#   title=2026: {"title":"2026"}
#   title=true: {"title":true}
#   title={"a":1}: {"title":{"a":1}}
#   due-date=1: {"due-date":"1"}
#   --due-date 1: {"dueDate":1}
#   {"id":1234567890123456789}: printed {"id":1234567890123456800}
# Fails if that changes.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
npm init -y > /dev/null
npm install --silent --prefer-offline --no-audit --no-fund mcporter@0.12.3 > /dev/null
cat > server.mjs <<'JS'
import { writeFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
const text = { type: 'string' };
const inputSchema = { type: 'object', properties: { id: { type: 'integer' }, 'due-date': text, title: text } };
createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method, params } = JSON.parse(line);
  if (id === undefined) return;
  if (method === 'tools/call') writeFileSync('called', JSON.stringify(params.arguments ?? {}));
  const results = {
    initialize: { protocolVersion: '2025-11-25', capabilities: { tools: {} }, serverInfo: { name: 'it', version: '1.0.0' } },
    'tools/list': { tools: [{ name: 'make', description: 'Makes.', inputSchema }] },
    'tools/call': { content: [{ type: 'text', text: '{"id":1234567890123456789}' }] },
  };
  const found = results[method];
  console.log(JSON.stringify({ jsonrpc: '2.0', id, ...(found ? { result: found } : { error: { code: -32601, message: 'unknown' } }) }));
});
JS
echo '{"mcpServers":{"it":{"command":"node","args":["server.mjs"]}},"imports":[]}' > mcporter.json
export HOME=$work
call() { npx mcporter --config mcporter.json call it.make "$@" 2> /dev/null; }
{
  for typed in id=123 id=1234567890123456789 title=2026 title=true 'title={"a":1}' due-date=1; do
    call "$typed" > printed
    echo "$typed: $(cat called)"
  done
  call --due-date 1 > printed
  echo "--due-date 1: $(cat called)"
  echo "{\"id\":1234567890123456789}: printed $(tr -d ' \n' < printed)"
} | tee seen
diff - seen <<'TXT'
id=123: {"id":123}
id=1234567890123456789: {"id":"1234567890123456789"}
title=2026: {"title":"2026"}
title=true: {"title":true}
title={"a":1}: {"title":{"a":1}}
due-date=1: {"due-date":"1"}
--due-date 1: {"dueDate":1}
{"id":1234567890123456789}: printed {"id":1234567890123456800}
TXT
