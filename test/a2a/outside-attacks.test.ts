import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Readable } from 'node:stream';
import { json } from 'node:stream/consumers';
import { expect, test } from 'vitest';
import { ask, startOutsideStage, tokenFile } from '../support/a2a/outside-stage.ts';
import { eventsOf } from '../support/serve/serve-command.ts';

/** Answers a request of JSON-RPC, by its method. */
type Answers = Record<string, (response: ServerResponse, reply: (result: object) => void) => void>;

interface Seen {
  path: string;
  authorization: string | undefined;
}

/** A server that does as a test says, and remembers who asked. `card` changes the card of an honest agent. */
async function startServer(answers: Answers = {}, card: (origin: string) => object = () => ({})) {
  const seen: Seen[] = [];
  const server = createServer(async (request: IncomingMessage, response) => {
    const { url: path = '', headers } = request;
    seen.push({ path, authorization: headers.authorization });
    const send = (value: object): void => {
      response.setHeader('content-type', 'application/json');
      response.end(JSON.stringify(value));
    };
    if (request.method === 'GET') {
      const special = answers[path];
      if (special) return special(response, send);
      const supportedInterfaces = [
        { url: `${origin}/rpc`, protocolBinding: 'JSONRPC', protocolVersion: '1.0' },
      ];
      return send({ name: 'x', capabilities: { streaming: true }, supportedInterfaces, ...card(origin) });
    }
    const { id, method } = (await json(request)) as { id: number; method: string };
    const reply = (result: object): void => send({ jsonrpc: '2.0', id, result });
    const answer = answers[method];
    if (answer) answer(response, reply);
    else send({ jsonrpc: '2.0', id, error: { code: -32601, message: 'no such method' } });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    origin,
    seen,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
    },
  };
}

const working = { id: 't', contextId: 'c', status: { state: 'TASK_STATE_WORKING' } };
const completed = {
  ...{ id: 't', contextId: 'c', status: { state: 'TASK_STATE_COMPLETED' } },
  artifacts: [{ artifactId: 'a', parts: [{ text: 'done' }] }],
};

test('What an agent says of a failure is one line for people.', async () => {
  await using stage = await startOutsideStage();
  const message = { messageId: 's', role: 'ROLE_AGENT', parts: [{ text: 'no\u001b[31m\nok: all is well' }] };
  const failed = { id: 't\n1', contextId: 'c', status: { state: 'TASK_STATE_FAILED', message } };
  await using peer = await startServer({ SendMessage: (_, reply) => reply({ task: failed }) });
  await stage.serve(peer.origin);
  expect(await ask(await stage.client('walt'), 'hello')).toMatchObject({
    status: 'undeliverable',
    detail: expect.stringMatching(/says that the task t 1 is failed: no ok: all is well$/),
  });
});

test('An answer about another task answers nobody.', async () => {
  await using stage = await startOutsideStage();
  await using peer = await startServer({
    SendMessage: (_, reply) => reply({ task: working }),
    GetTask: (_, reply) => reply({ ...completed, id: 'u' }),
  });
  await stage.serve(peer.origin);
  expect(await ask(await stage.client('walt'), 'hello')).toMatchObject({
    status: 'undeliverable',
    detail: expect.stringContaining("was asked for the task 't', and answered with 'u'"),
  });
});

test('An id that is too long to be noted is refused, so that no message is sent twice for want of its note.', async () => {
  await using stage = await startOutsideStage();
  await using peer = await startServer({
    SendMessage: (_, reply) => reply({ task: { ...working, id: 't'.repeat(2_000) } }),
    GetTask: (_, reply) => reply({ ...completed, id: 't'.repeat(2_000) }),
  });
  await stage.serve(peer.origin);
  expect(await ask(await stage.client('walt'), 'hello')).toMatchObject({
    status: 'undeliverable',
    detail: expect.stringContaining('gives its task or context an id of more than 1,024 characters'),
  });
});

const elsewhere = (origin: string) => (): object => ({
  supportedInterfaces: [{ url: `${origin}/rpc`, protocolBinding: 'JSONRPC', protocolVersion: '1.0' }],
});

test('A card that names another origin is refused, and asked there only if that is allowed.', async () => {
  await using stage = await startOutsideStage();
  await using other = await startServer({ SendMessage: (_, reply) => reply({ task: completed }) });
  await using peer = await startServer({}, elsewhere(other.origin));
  const token = ['--a2a-token-file', await tokenFile(stage.folder, 'secret')];
  const refused = stage.start(peer.origin, token);
  expect((await refused.ended).code).not.toBe(0);
  expect(refused.stderr()).toContain(`names an interface at ${other.origin}: allow it with --a2a-allow`);
  expect(other.seen).toEqual([]);
  await stage.serve(peer.origin, [...token, '--a2a-allow', other.origin]);
  const outcome = await ask(await stage.client('walt'), 'hello');
  expect(outcome).toMatchObject({ status: 'completed', reply: { json: 'done' } });
  expect(other.seen).toEqual([{ path: '/rpc', authorization: 'Bearer secret' }]);
});

test('No redirect is followed: neither that of a card nor that of a message.', async () => {
  await using stage = await startOutsideStage();
  await using other = await startServer();
  const redirect = (response: ServerResponse): void => {
    response.writeHead(307, { location: `${other.origin}/there` });
    response.end();
  };
  await using moved = await startServer({ '/.well-known/agent-card.json': redirect });
  const token = ['--a2a-token-file', await tokenFile(stage.folder, 'secret')];
  const refused = stage.start(moved.origin, token);
  expect((await refused.ended).code).not.toBe(0);
  expect(refused.stderr()).toContain(`redirects to ${other.origin} (HTTP 307)`);

  await using peer = await startServer({ SendMessage: redirect });
  const run = await stage.serve(peer.origin, token);
  const withdrawal = new AbortController();
  const asked = ask(await stage.client('walt'), 'hello', { signal: withdrawal.signal });
  await expect
    .poll(() => eventsOf(run, 'program_failing'))
    .toMatchObject([{ reason: expect.stringContaining(`redirects to ${other.origin}`) }]);
  withdrawal.abort();
  expect((await asked).status).toBe('cancelled');
  expect(other.seen).toEqual([]);
});

test.each([
  ['a body of 64 MiB', 'larger than 4194304 bytes', (response: ServerResponse) => flood(response, 64)],
  [
    'a body without an end',
    'larger than 4194304 bytes',
    (response: ServerResponse) => flood(response, 1_000_000),
  ],
  ['no JSON', 'SendMessage', (response: ServerResponse) => void response.end('<html>hello</html>')],
  ['a broken connection', 'may have the message', (response: ServerResponse) => void response.destroy()],
])('An agent that answers with %s fails its message, with the reason.', async (_, reason, answer) => {
  await using stage = await startOutsideStage();
  await using peer = await startServer({ SendMessage: answer });
  const run = await stage.serve(peer.origin);
  const withdrawal = new AbortController();
  const asked = ask(await stage.client('walt'), 'hello', { signal: withdrawal.signal });
  await expect.poll(() => eventsOf(run, 'turn_ended')[0]?.reason).toBeDefined();
  expect(String(eventsOf(run, 'turn_ended')[0]!.reason)).toContain(
    reason === 'SendMessage' ? '127.0.0.1' : reason,
  );
  withdrawal.abort();
  await asked;
});

/** Writes so many MiB of JSON, as long as somebody reads. */
function flood(response: ServerResponse, mebibytes: number): void {
  response.setHeader('content-type', 'application/json');
  pour(response, '{"jsonrpc":"2.0","result":"', 'x'.repeat(1024 * 1024), mebibytes);
}

/** Writes a beginning, and then the same piece again and again, as long as somebody reads. */
function pour(
  response: ServerResponse,
  beginning: string,
  piece: string,
  times = Number.POSITIVE_INFINITY,
): void {
  const pieces = function* () {
    yield beginning;
    for (let n = 0; n < times; n++) yield piece;
  };
  Readable.from(pieces()).pipe(response.on('error', () => {}));
}

test.each([
  ['a line without an end', (response: ServerResponse) => pour(response, 'data: ', 'x'.repeat(64 * 1024))],
  ['events without an end', (response: ServerResponse) => pour(response, event, event)],
  ['nothing', () => {}],
  ['a byte now and then', (response: ServerResponse) => dribble(response)],
])('A stream with %s keeps no answer back.', async (_, stream) => {
  await using stage = await startOutsideStage();
  let looks = 0;
  await using peer = await startServer({
    SendMessage: (_response, reply) => reply({ task: working }),
    SubscribeToTask(response) {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.flushHeaders();
      stream(response);
    },
    GetTask: (_response, reply) => reply(++looks > 1 ? completed : working),
  });
  await stage.serve(peer.origin);
  const outcome = await ask(await stage.client('walt'), 'hello', { timeoutMs: 90_000 });
  expect(outcome).toMatchObject({ status: 'completed', reply: { json: 'done' } });
});

const event = `data: ${JSON.stringify({ jsonrpc: '2.0', id: 3, result: { statusUpdate: { taskId: 't', contextId: 'c', status: { state: 'TASK_STATE_WORKING' } } } })}\n\n`;

function dribble(response: ServerResponse): void {
  const timer = setInterval(() => (response.destroyed ? clearInterval(timer) : response.write('d')), 500);
}
