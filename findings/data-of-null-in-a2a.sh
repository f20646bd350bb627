#!/usr/bin/env bash
# A part of an A2A 1.0 message whose data is null is lost in the official @a2a-js/sdk 1.3.0: data may be any JSON value, and its server gives
# the agent a part without content, and sends it on as {}, which is no part. false, 0 and an empty text arrive.
#
# Seen on Linux with Node 24, by an agent that answers with the parts of the message:
#   {"data":null} -> {}
#   {"data":false} -> {"data":false}
#   {"data":0} -> {"data":0}
#   {"data":[null]} -> {"data":[null]}
#   {"text":""} -> {"text":""}
# Fails if that changes.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
npm init -y > /dev/null
npm install --silent --no-audit --no-fund @a2a-js/sdk@1.3.0 express@5.3.0 > /dev/null
cat > try.mjs <<'JS'
import { once } from 'node:events';
import { AgentEvent, DefaultRequestHandler, InMemoryTaskStore } from '@a2a-js/sdk/server';
import { jsonRpcHandler, UserBuilder } from '@a2a-js/sdk/server/express';
import express from 'express';
const card = {
  name: 'echo', description: '', version: '1.0.0', capabilities: {}, skills: [], defaultInputModes: [], defaultOutputModes: [],
  supportedInterfaces: [{ url: 'http://127.0.0.1', protocolBinding: 'JSONRPC', protocolVersion: '1.0', tenant: '' }],
  securitySchemes: {}, securityRequirements: [], signatures: [],
};
const agent = {
  async execute({ userMessage }, bus) {
    bus.publish(AgentEvent.message({ ...userMessage, messageId: 'answer' }));
    bus.finished();
  },
  async cancelTask() {},
};
const requestHandler = new DefaultRequestHandler(card, new InMemoryTaskStore(), agent);
const server = express().use(jsonRpcHandler({ requestHandler, userBuilder: UserBuilder.noAuthentication })).listen(0, '127.0.0.1');
await once(server, 'listening');
for (const part of [{ data: null }, { data: false }, { data: 0 }, { data: [null] }, { text: '' }]) {
  const message = { messageId: 'question', role: 'ROLE_USER', parts: [part] };
  const answer = await fetch(`http://127.0.0.1:${server.address().port}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'A2A-Version': '1.0' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'SendMessage', params: { message } }),
  });
  console.log(`${JSON.stringify(part)} -> ${JSON.stringify((await answer.json()).result.message.parts[0])}`);
}
server.close();
server.closeAllConnections();
JS
node try.mjs | tee seen
diff - seen <<'TXT'
{"data":null} -> {}
{"data":false} -> {"data":false}
{"data":0} -> {"data":0}
{"data":[null]} -> {"data":[null]}
{"text":""} -> {"text":""}
TXT
