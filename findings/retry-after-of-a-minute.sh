#!/usr/bin/env bash
# Three official libraries of model providers read one Retry-After in three ways. openai 7.59.0 waits as told up to 60 s; told to wait 61 s
# or more, it asks again after half a second, so a longer wait brings the next request sooner. @google/genai 3.3.0 does not read the header
# and asks again after one or two seconds. @anthropic-ai/sdk 1.14.0 waits as told. Whoever limits a fleet by this header gets three answers.
#
# Seen on Linux with Node 24, with one retry allowed, whether the second request came within 4 s:
#   Retry-After 60: openai waits, anthropic waits, genai asks again
#   Retry-After 61: openai asks again, anthropic waits, genai asks again
# Fails if that changes.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
npm init -y > /dev/null
npm install --silent --no-audit --no-fund openai@7.59.0 @anthropic-ai/sdk@1.14.0 @google/genai@3.3.0 > /dev/null
cat > try.mjs <<'JS'
import { once } from 'node:events';
import { createServer } from 'node:http';
import { setTimeout } from 'node:timers/promises';
import Anthropic from '@anthropic-ai/sdk';
import { GoogleGenAI } from '@google/genai';
import OpenAI from 'openai';
const requests = {};
const model = createServer((request, response) => {
  const [, name, seconds] = request.url.split('/');
  requests[name + seconds] = (requests[name + seconds] ?? 0) + 1;
  request.resume();
  response.writeHead(429, { 'content-type': 'application/json', 'retry-after': seconds });
  response.end(JSON.stringify({ error: { code: 429, message: 'quota', status: 'RESOURCE_EXHAUSTED' } }));
}).listen(0, '127.0.0.1');
await once(model, 'listening');
const messages = [{ role: 'user', content: 'hi' }];
const ask = {
  openai: (baseURL) => new OpenAI({ apiKey: 'k', baseURL, maxRetries: 1 }).chat.completions.create({ model: 'm', messages }),
  anthropic: (baseURL) => new Anthropic({ apiKey: 'k', baseURL, maxRetries: 1 }).messages.create({ model: 'm', max_tokens: 1, messages }),
  genai: (baseUrl) =>
    new GoogleGenAI({ apiKey: 'k', httpOptions: { baseUrl, retryOptions: { attempts: 2 } } })
      .models.generateContent({ model: 'm', contents: 'hi' }),
};
for (const seconds of [60, 61])
  for (const [name, start] of Object.entries(ask)) start(`http://127.0.0.1:${model.address().port}/${name}/${seconds}`).catch(() => {});
await setTimeout(4000);
for (const seconds of [60, 61]) {
  const told = Object.keys(ask).map((name) => `${name} ${requests[name + seconds] === 1 ? 'waits' : 'asks again'}`);
  console.log(`Retry-After ${seconds}: ${told.join(', ')}`);
}
process.exit(0);
JS
node try.mjs | tee seen
diff - seen <<'TXT'
Retry-After 60: openai waits, anthropic waits, genai asks again
Retry-After 61: openai asks again, anthropic waits, genai asks again
TXT
