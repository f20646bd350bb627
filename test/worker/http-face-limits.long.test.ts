import { connect } from 'node:net';
import { expect, test } from 'vitest';
import {
  type HttpFaceStack,
  modernCall,
  openRequest,
  rawRequest,
  startHttpFaceStack,
} from '../support/worker/http-face.ts';

const echo = 'mcp_counter__echo';

/** Sends five calls with answers of 1.9 MB over one connection, more than the buffers of the system take, and reads nothing. */
async function deafClient({ stack, face }: HttpFaceStack, token: string) {
  const { headers, body } = modernCall(token, 'mcp_counter__big', { bytes: 1_900_000 });
  const socket = connect(face.port, '127.0.0.1').pause();
  socket.on('error', () => {});
  const lines = Object.entries({ host: 'localhost', ...headers, 'content-length': Buffer.byteLength(body) });
  const head = `POST /mcp HTTP/1.1\r\n${lines.map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n`;
  socket.write(`${head}${body}`.repeat(5));
  const echoes = async () => (await rawRequest(face.port, modernCall(token, echo, {}))).status;
  await expect.poll(() => stack.ran('big').filter(({ at }) => at === 'end').length).toBe(5);
  return { socket, echoes };
}

test('answers that a client does not read count, too, until it reads them', async () => {
  await using site = await startHttpFaceStack({}, { limits: { bytesPerAgent: 100_000 } });
  const { socket, echoes } = await deafClient(site, await site.stack.broker.token('wim'));
  await expect.poll(echoes).toBe(429);
  socket.resume();
  await expect.poll(echoes).toBe(200);
  socket.destroy();
});

test('a client that reads nothing of its answers is cut off', async () => {
  const times = { requestTimeoutMs: 300 };
  await using site = await startHttpFaceStack({}, { times, limits: { bytesPerAgent: 100_000 } });
  const { socket, echoes } = await deafClient(site, await site.stack.broker.token('wim'));
  const isCutOff = () => {
    // Only a client that writes gets the refusal; an empty line between requests means nothing.
    socket.write('\r\n');
    return socket.destroyed;
  };
  await expect.poll(isCutOff, { interval: 3 * times.requestTimeoutMs }).toBe(true);
  expect(await echoes()).toBe(200);
});

test('an agent that sends more bytes than it may is read later, and another one is served meanwhile', async () => {
  await using site = await startHttpFaceStack({}, { limits: { bytesPerSecond: 4096 } });
  const { stack, face } = site;
  const [wim, eva] = await Promise.all([stack.broker.token('wim'), stack.broker.token('eva')]);
  expect((await rawRequest(face.port, modernCall(wim, echo, {}))).status).toBe(200);
  // At this rate its body takes four minutes.
  await using large = openRequest(face.port, modernCall(wim, echo, { text: 'x'.repeat(1024 * 1024) }));
  for (let n = 0; n < 5; n++) {
    expect((await rawRequest(face.port, modernCall(eva, echo, { n }))).status).toBe(200);
  }
  expect(large.status()).toBeUndefined();
});
