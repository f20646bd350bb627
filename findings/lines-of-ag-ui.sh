#!/usr/bin/env bash
# The lines of a text/event-stream may end with LF, CR or CR LF; a server of sse-starlette, the usual one of agents in Python, ends them with
# CR LF. HttpAgent of @ag-ui/client 1.0.0 knows only LF: of a stream with the others it reads no event, and its run fails with the words of a
# JSON parser. eventsource-parser 4.1.3 reads all of them, as do the SDKs of OpenAI, Anthropic and Google.
#
# Seen on Linux with Node 24, of one run with the message "hello":
#   LF: ag-ui hello; eventsource-parser 5 events
#   CR LF: ag-ui Unexpected non-whitespace character after JSON; eventsource-parser 5 events
#   CR: ag-ui Unexpected non-whitespace character after JSON; eventsource-parser 5 events
# Fails if that changes.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
npm init -y > /dev/null
npm install --silent --prefer-offline --no-audit --no-fund @ag-ui/client@1.0.0 eventsource-parser@4.1.3 > /dev/null
cat > try.mjs <<'JS'
import { createServer } from 'node:http';
import { HttpAgent } from '@ag-ui/client';
import { createParser } from 'eventsource-parser';
const run = { threadId: 'thread', runId: 'run' };
const messageId = 'message';
const events = [
  { type: 'RUN_STARTED', ...run },
  { type: 'TEXT_MESSAGE_START', messageId, role: 'assistant' },
  { type: 'TEXT_MESSAGE_CONTENT', messageId, delta: 'hello' },
  { type: 'TEXT_MESSAGE_END', messageId },
  { type: 'RUN_FINISHED', ...run },
];
const ends = { LF: '\n', 'CR LF': '\r\n', CR: '\r' };
const streamOf = (end) => events.map((event) => `data: ${JSON.stringify(event)}${end}${end}`).join('');
const server = createServer(({ url }, response) => {
  response.setHeader('content-type', 'text/event-stream').end(streamOf(ends[decodeURIComponent(url.slice(1))]));
}).listen(0, '127.0.0.1');
await new Promise((resolve) => server.once('listening', resolve));
for (const [name, end] of Object.entries(ends)) {
  const agent = new HttpAgent({ url: `http://127.0.0.1:${server.address().port}/${encodeURIComponent(name)}` });
  const told = await agent.runAgent().then(() => agent.messages[0].content, ({ message }) => /^.* after JSON/.exec(message)?.[0]);
  let read = 0;
  const parser = createParser({ onEvent: () => read++ });
  parser.feed(streamOf(end));
  parser.feed('\n');
  console.log(`${name}: ag-ui ${told}; eventsource-parser ${read} events`);
}
process.exit(0);
JS
node try.mjs 2> /dev/null | tee seen
diff - seen <<'TXT'
LF: ag-ui hello; eventsource-parser 5 events
CR LF: ag-ui Unexpected non-whitespace character after JSON; eventsource-parser 5 events
CR: ag-ui Unexpected non-whitespace character after JSON; eventsource-parser 5 events
TXT
