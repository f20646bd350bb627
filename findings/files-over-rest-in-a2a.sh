#!/usr/bin/env bash
# A2A 0.3 has one message for all bindings, and a client chooses among those of a card. With the official @a2a-js/sdk 0.3.14, on which Google's
# ADK 2.0.0 and Strands 1.19.0 build, the choice decides what arrives: over REST its client and server lose the names of files, the metadata of
# parts and the tasks that a message refers to, and a file without a media type gets an empty one. Over JSON-RPC all arrive.
#
# Seen on Linux with Node 24, by an agent that prints what it got, on 2026-11-30:
#   JSONRPC: text {"a":1}, file a.txt text/plain, file b.txt undefined, refers to earlier
#   HTTP+JSON: text undefined, file undefined text/plain, file undefined "", refers to undefined
# Fails if that changes.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
npm init -y > /dev/null
npm install --silent --no-audit --no-fund @a2a-js/sdk@0.3.14 express@5.3.0 > /dev/null
cat > try.mjs <<'JS'
import { once } from 'node:events';
import { ClientFactory, JsonRpcTransportFactory, RestTransportFactory } from '@a2a-js/sdk/client';
import { DefaultRequestHandler, InMemoryTaskStore } from '@a2a-js/sdk/server';
import { agentCardHandler, jsonRpcHandler, restHandler, UserBuilder } from '@a2a-js/sdk/server/express';
import express from 'express';
console.warn = () => {};
const app = express();
const server = app.listen(0, '127.0.0.1');
await once(server, 'listening');
const url = `http://127.0.0.1:${server.address().port}`;
const places = { JSONRPC: `${url}/rpc`, 'HTTP+JSON': `${url}/rest` };
const card = {
  name: 'echo', description: '', version: '1.0.0', protocolVersion: '0.3.0', url: places.JSONRPC, preferredTransport: 'JSONRPC',
  additionalInterfaces: Object.entries(places).map(([transport, url]) => ({ transport, url })),
  capabilities: {}, skills: [], defaultInputModes: [], defaultOutputModes: [],
};
let got;
const agent = {
  async execute({ userMessage }, bus) {
    got = userMessage;
    bus.publish({ kind: 'message', messageId: 'answer', role: 'agent', parts: [{ kind: 'text', text: 'thanks' }] });
    bus.finished();
  },
  async cancelTask() {},
};
const requestHandler = new DefaultRequestHandler(card, new InMemoryTaskStore(), agent);
const options = { requestHandler, userBuilder: UserBuilder.noAuthentication };
app.use('/.well-known/agent-card.json', agentCardHandler({ agentCardProvider: requestHandler }));
app.use('/rpc', jsonRpcHandler(options)).use('/rest', restHandler(options));
const parts = [
  { kind: 'text', text: 'hi', metadata: { a: 1 } },
  { kind: 'file', file: { bytes: 'aGk=', name: 'a.txt', mimeType: 'text/plain' } },
  { kind: 'file', file: { bytes: 'aGk=', name: 'b.txt' } },
];
for (const preferred of Object.keys(places)) {
  const transports = [new JsonRpcTransportFactory(), new RestTransportFactory()];
  const factory = new ClientFactory({ transports, clientConfig: {}, preferredTransports: [preferred] });
  const client = await factory.createFromUrl(url);
  const message = { kind: 'message', messageId: 'question', role: 'user', parts, referenceTaskIds: ['earlier'] };
  await client.sendMessage({ message });
  const [text, one, two] = got.parts;
  const type = two.file.mimeType === '' ? '""' : two.file.mimeType;
  console.log(
    `${preferred}: text ${JSON.stringify(text.metadata)}, file ${one.file.name} ${one.file.mimeType}, file ${two.file.name} ${type},`,
    `refers to ${got.referenceTaskIds}`,
  );
}
server.close();
server.closeAllConnections();
JS
node try.mjs | tee seen
diff - seen <<'TXT'
JSONRPC: text {"a":1}, file a.txt text/plain, file b.txt undefined, refers to earlier
HTTP+JSON: text undefined, file undefined text/plain, file undefined "", refers to undefined
TXT
