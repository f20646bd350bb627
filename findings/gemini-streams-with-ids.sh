#!/usr/bin/env bash
# @google/genai 3.3.0 does not read a stream of server-sent events field by field. If each event has an id line, as gateways and frameworks
# add it, a whole answer of the model is dropped without an error, and the caller gets an empty text; with the id after the data it is a
# syntax error. openai 7.59.0 reads the same events in all forms.
#
# Seen on Linux with Node 24, with the same two events of "hello" each:
#   data: genai "hellohello", openai "hellohello"
#   id, data: genai "", openai "hellohello"
#   event, data: genai "", openai "hellohello"
#   data in two lines: genai SyntaxError, openai "hellohello"
#   data, id: genai SyntaxError, openai "hellohello"
# Fails if that changes.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
npm init -y > /dev/null
npm install --silent --no-audit --no-fund openai@7.59.0 @google/genai@3.3.0 > /dev/null
cat > try.mjs <<'JS'
import { once } from 'node:events';
import { createServer } from 'node:http';
import { GoogleGenAI } from '@google/genai';
import OpenAI from 'openai';
const forms = {
  data: (data) => ['data: ' + data],
  'id, data': (data) => ['id: 7', 'data: ' + data],
  'event, data': (data) => ['event: message', 'data: ' + data],
  'data in two lines': (data) => ['data: {', 'data: ' + data.slice(1)],
  'data, id': (data) => ['data: ' + data, 'id: 7'],
};
let lines;
const model = createServer((request, response) => {
  request.resume();
  const gemini = { candidates: [{ index: 0, content: { role: 'model', parts: [{ text: 'hello' }] } }] };
  const openai = { id: 'c', object: 'chat.completion.chunk', created: 1, model: 'm', choices: [{ index: 0, delta: { content: 'hello' } }] };
  const event = `${lines(JSON.stringify(request.url.includes('Content') ? gemini : openai)).join('\n')}\n\n`;
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  response.end(event + event);
}).listen(0, '127.0.0.1');
await once(model, 'listening');
const url = `http://127.0.0.1:${model.address().port}`;
const genai = new GoogleGenAI({ apiKey: 'k', httpOptions: { baseUrl: url } });
const openai = new OpenAI({ apiKey: 'k', baseURL: url });
const ask = {
  genai: async () => Array.fromAsync(await genai.models.generateContentStream({ model: 'm', contents: 'hi' }), ({ text }) => text),
  openai: async () => {
    const stream = await openai.chat.completions.create({ model: 'm', messages: [{ role: 'user', content: 'hi' }], stream: true });
    return Array.fromAsync(stream, ({ choices }) => choices[0].delta.content);
  },
};
for (const [form, make] of Object.entries(forms)) {
  lines = make;
  const told = [];
  for (const [name, read] of Object.entries(ask))
    told.push(`${name} ${await read().then((texts) => JSON.stringify(texts.join('')), (error) => error.name)}`);
  console.log(`${form}: ${told.join(', ')}`);
}
model.close();
model.closeAllConnections();
JS
node try.mjs | tee seen
diff - seen <<'TXT'
data: genai "hellohello", openai "hellohello"
id, data: genai "", openai "hellohello"
event, data: genai "", openai "hellohello"
data in two lines: genai SyntaxError, openai "hellohello"
data, id: genai SyntaxError, openai "hellohello"
TXT
