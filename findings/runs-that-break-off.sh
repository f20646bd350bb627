#!/usr/bin/env bash
# A run of AG-UI ends with RUN_FINISHED or RUN_ERROR. If its stream ends before, as when a proxy or a server that is stopped closes it in good
# order, runAgent of @ag-ui/client 1.0.0 resolves like after a whole run: half a text is the new message, and half the arguments of a call are
# the call. Only the absence of an event tells. The stream helpers of openai 7.59.0 and @anthropic-ai/sdk 1.14.0 throw in the same place.
#
# Seen on Linux with Node 24: streams that end before their time, and what becomes of them:
#   ag-ui, whole: resolves, "The amount is 12 million"
#   ag-ui, cut: resolves, "The amount is 1"
#   ag-ui, cut in a call: resolves, pay({"amount":1)
#   openai, cut: throws
#   anthropic, cut: throws
# Fails if that changes.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
npm init -y > /dev/null
npm install --silent --prefer-offline --no-audit --no-fund @ag-ui/client@1.0.0 openai@7.59.0 @anthropic-ai/sdk@1.14.0 > /dev/null
cat > try.mjs <<'JS'
import { createServer } from 'node:http';
import { HttpAgent } from '@ag-ui/client';
import Anthropic from '@anthropic-ai/sdk';
import OpenAI from 'openai';
const run = { threadId: 'thread', runId: 'run' };
const started = { type: 'RUN_STARTED', ...run };
const messageId = 'message';
const toolCallId = 'call';
const whole = [
  started,
  { type: 'TEXT_MESSAGE_START', messageId, role: 'assistant' },
  { type: 'TEXT_MESSAGE_CONTENT', messageId, delta: 'The amount is 1' },
  { type: 'TEXT_MESSAGE_CONTENT', messageId, delta: '2 million' },
  { type: 'TEXT_MESSAGE_END', messageId },
  { type: 'RUN_FINISHED', ...run },
];
const call = [
  started,
  { type: 'TOOL_CALL_START', toolCallId, toolCallName: 'pay' },
  { type: 'TOOL_CALL_ARGS', toolCallId, delta: '{"amount":1' },
];
const delta = { role: 'assistant', content: 'The amount is 1' };
const chunk = { id: 'it', object: 'chat.completion.chunk', created: 1, model: 'it', choices: [{ index: 0, delta, finish_reason: null }] };
const usage = { input_tokens: 1, output_tokens: 1 };
const message = { id: 'it', type: 'message', role: 'assistant', model: 'it', content: [], stop_reason: null, stop_sequence: null, usage };
const streams = {
  '/whole': whole,
  '/cut': whole.slice(0, 3),
  '/call': call,
  '/chat/completions': [chunk],
  '/v1/messages': [
    { type: 'message_start', message },
    { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
    { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'The amount is 1' } },
  ],
};
const server = createServer(({ url }, response) => {
  const lines = streams[url].map((event) => `event: ${event.type ?? 'message'}\ndata: ${JSON.stringify(event)}\n\n`);
  response.setHeader('content-type', 'text/event-stream').end(lines.join(''));
}).listen(0, '127.0.0.1');
await new Promise((resolve) => server.once('listening', resolve));
const baseURL = `http://127.0.0.1:${server.address().port}`;
for (const [name, path] of [['whole', '/whole'], ['cut', '/cut'], ['cut in a call', '/call']]) {
  const agent = new HttpAgent({ url: `${baseURL}${path}` });
  const resolves = ({ newMessages: [{ content, toolCalls }] }) =>
    `resolves, ${toolCalls ? `${toolCalls[0].function.name}(${toolCalls[0].function.arguments})` : JSON.stringify(content)}`;
  console.log(`ag-ui, ${name}: ${await agent.runAgent().then(resolves, () => 'throws')}`);
}
const options = { apiKey: 'none', baseURL, maxRetries: 0 };
const asked = { model: 'it', max_tokens: 9, messages: [{ role: 'user', content: 'How much?' }] };
const told = (promise) => promise.then((text) => `resolves, ${text}`, () => 'throws');
console.log('openai, cut:', await told(new OpenAI(options).chat.completions.stream(asked).finalContent()));
console.log('anthropic, cut:', await told(new Anthropic(options).messages.stream(asked).finalText()));
process.exit(0);
JS
node try.mjs 2> /dev/null | tee seen
diff - seen <<'TXT'
ag-ui, whole: resolves, "The amount is 12 million"
ag-ui, cut: resolves, "The amount is 1"
ag-ui, cut in a call: resolves, pay({"amount":1)
openai, cut: throws
anthropic, cut: throws
TXT
