import type { ServerResponse } from 'node:http';
import { expect, test } from 'vitest';
import { completed, flood, pour, startHostileServer, working } from '../support/a2a/hostile-server.ts';
import { ask, startOutsideStage, tokenFile } from '../support/a2a/outside-stage.ts';
import { eventsOf } from '../support/serve/serve-command.ts';

const elsewhere = (origin: string) => (): object => ({
  supportedInterfaces: [{ url: `${origin}/rpc`, protocolBinding: 'JSONRPC', protocolVersion: '1.0' }],
});

test('What an agent says of a failure is one line for people.', async () => {
  await using stage = await startOutsideStage();
  const message = { messageId: 's', role: 'ROLE_AGENT', parts: [{ text: 'no\u001b[31m\nok: all is well' }] };
  const failed = { id: 't\n1', contextId: 'c', status: { state: 'TASK_STATE_FAILED', message } };
  await using peer = await startHostileServer({ SendMessage: (_, reply) => reply({ task: failed }) });
  await stage.serve(peer.origin);
  expect(await ask(await stage.client('walt'), 'hello')).toMatchObject({
    status: 'undeliverable',
    detail: expect.stringMatching(/says that the task t 1 is failed: no ok: all is well$/),
  });
});

test('An id that is too long to be noted is refused, so that no message is sent twice for want of its note.', async () => {
  await using stage = await startOutsideStage();
  await using peer = await startHostileServer({
    SendMessage: (_, reply) => reply({ task: { ...working, id: 't'.repeat(2_000) } }),
    GetTask: (_, reply) => reply({ ...completed, id: 't'.repeat(2_000) }),
  });
  await stage.serve(peer.origin);
  expect(await ask(await stage.client('walt'), 'hello')).toMatchObject({
    status: 'undeliverable',
    detail: expect.stringContaining('gives its task or context an id of more than 1,024 characters'),
  });
});

test.each([
  [
    'a body without an end',
    'larger than 4194304 bytes',
    (response: ServerResponse) => flood(response, 1_000_000),
  ],
  ['no JSON', 'SendMessage', (response: ServerResponse) => void response.end('<html>hello</html>')],
  ['a broken connection', 'may have the message', (response: ServerResponse) => void response.destroy()],
])('An agent that answers with %s fails its message, with the reason.', async (_, reason, answer) => {
  await using stage = await startOutsideStage();
  await using peer = await startHostileServer({ SendMessage: answer });
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

test.each([
  ['a line without an end', (response: ServerResponse) => pour(response, 'data: ', 'x'.repeat(64 * 1024))],
  ['events without an end', (response: ServerResponse) => pour(response, event, event)],
  ['nothing', () => {}],
  ['a byte now and then', (response: ServerResponse) => dribble(response)],
])('A stream with %s keeps no answer back.', async (_, stream) => {
  await using stage = await startOutsideStage();
  let looks = 0;
  await using peer = await startHostileServer({
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

test('An answer about another task answers nobody.', async () => {
  await using stage = await startOutsideStage();
  await using peer = await startHostileServer({
    SendMessage: (_, reply) => reply({ task: working }),
    GetTask: (_, reply) => reply({ ...completed, id: 'u' }),
  });
  await stage.serve(peer.origin);
  expect(await ask(await stage.client('walt'), 'hello')).toMatchObject({
    status: 'undeliverable',
    detail: expect.stringContaining("was asked for the task 't', and answered with 'u'"),
  });
});

test('An agent that answers with a body of 8 MiB fails its message, with the reason.', async () => {
  await using stage = await startOutsideStage();
  await using peer = await startHostileServer({ SendMessage: (response) => flood(response, 8) });
  const run = await stage.serve(peer.origin);
  const withdrawal = new AbortController();
  const asked = ask(await stage.client('walt'), 'hello', { signal: withdrawal.signal });
  await expect.poll(() => eventsOf(run, 'turn_ended')[0]?.reason).toBeDefined();
  expect(String(eventsOf(run, 'turn_ended')[0]!.reason)).toContain('larger than 4194304 bytes');
  withdrawal.abort();
  await asked;
});

test('A card that names another origin is refused, and asked there only if that is allowed.', async () => {
  await using stage = await startOutsideStage();
  await using other = await startHostileServer({ SendMessage: (_, reply) => reply({ task: completed }) });
  await using peer = await startHostileServer({}, elsewhere(other.origin));
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
