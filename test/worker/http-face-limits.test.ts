import { writeFile } from 'node:fs/promises';
import { request } from 'node:http';
import { expect, test } from 'vitest';
import {
  modernCall,
  openRequest,
  rawRequest,
  startHttpFaceStack,
  validHeaders,
} from '../support/worker/http-face.ts';

const gate = 'mcp_counter__gate';
const echo = 'mcp_counter__echo';

/** The answer to a refused request, which may be sent again after a second. */
function refusal(status: number, message: string) {
  return {
    status,
    headers: status === 413 ? {} : { 'retry-after': '1' },
    text: expect.stringMatching(new RegExp(`^\\{"jsonrpc":"2.0","error":.*${message}`)),
  };
}

test('an agent has so many requests under way, and one more is refused until one is answered', async () => {
  await using site = await startHttpFaceStack({}, { limits: { requestsPerAgent: 2, requests: 3 } });
  const { stack, face } = site;
  const [wim, eva] = await Promise.all([stack.broker.token('wim'), stack.broker.token('eva')]);
  const opener = `${stack.directory}/open`;
  const held = [1, 2].map((id) => rawRequest(face.port, modernCall(wim, gate, { file: opener }, id)));
  await expect.poll(() => stack.ran('gate').length).toBe(2);
  const refused = await rawRequest(face.port, modernCall(wim, echo, {}));
  expect(refused).toMatchObject(
    refusal(429, "agent 'wim' has 2 requests under way here.* worker.limits.requestsPerAgent"),
  );
  expect((await rawRequest(face.port, modernCall(eva, echo, {}))).status).toBe(200);
  await using _third = openRequest(face.port, modernCall(eva, gate, { file: opener }, 3));
  await expect.poll(() => stack.ran('gate').length).toBe(3);
  expect(await rawRequest(face.port, modernCall(eva, echo, {}))).toMatchObject(
    refusal(503, 'this face is full: its agents have 3 requests .* worker.limits.requests"'),
  );
  await writeFile(opener, '');
  expect((await Promise.all(held)).map(({ status }) => status)).toEqual([200, 200]);
  expect((await rawRequest(face.port, modernCall(wim, echo, {}))).status).toBe(200);
});

test('the bytes of bodies count while they arrive, and are free again when they are answered or broken off', async () => {
  await using site = await startHttpFaceStack({}, { limits: { bytesPerAgent: 10_000, bytes: 20_000 } });
  const { stack, face } = site;
  const [wim, eva] = await Promise.all([stack.broker.token('wim'), stack.broker.token('eva')]);
  const call = (token: string, length: number) =>
    rawRequest(face.port, modernCall(token, echo, { text: 'x'.repeat(length) }));
  expect((await call(wim, 8_000)).status).toBe(200);

  const slow = request({
    host: '127.0.0.1',
    port: face.port,
    method: 'POST',
    path: '/mcp',
    headers: validHeaders(wim),
  });
  slow.on('error', () => {});
  slow.write(`{"text":"${'x'.repeat(6_000)}`);
  // The part of the body has arrived when a second one finds no room.
  await expect.poll(async () => (await call(wim, 8_000)).status).toBe(429);
  expect(await call(wim, 8_000)).toMatchObject(
    refusal(429, "agent 'wim' has 10000 bytes of requests under way here.* worker.limits.bytesPerAgent"),
  );
  expect((await call(wim, 1_000)).status).toBe(200);
  expect((await call(eva, 8_000)).status).toBe(200);
  slow.destroy();
  await expect.poll(async () => (await call(wim, 8_000)).status).toBe(200);

  expect(await call(wim, 10_000)).toMatchObject(
    refusal(413, 'this request has more than 10000 bytes; .* worker.limits.bytesPerAgent'),
  );
});

test('values and names count besides bytes, and a refusal has the id of its request', async () => {
  await using site = await startHttpFaceStack({}, { limits: { nodesPerAgent: 1_000 } });
  const { stack, face } = site;
  const token = await stack.broker.token('wim');
  const send = (values: number) =>
    rawRequest(face.port, modernCall(token, echo, { list: Array(values).fill(1) }, 'mine'));
  expect((await send(900)).status).toBe(200);
  const refused = await send(1_000);
  expect(refused).toMatchObject(
    refusal(413, 'this request has more than 1000 JSON values and names; .* worker.limits.nodesPerAgent'),
  );
  expect(JSON.parse(refused.text)).toMatchObject({ id: 'mine' });
  expect(await send(250_000)).toMatchObject({
    status: 400,
    text: expect.stringContaining('more than 250000 values and names'),
  });
  expect((await send(900)).status).toBe(200);
});
