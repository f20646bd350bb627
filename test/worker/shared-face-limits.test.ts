import { writeFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { connectShim, startSharedFaceStack } from '../support/worker/shared-face.ts';

const count = 'mcp_counter__count';
const echo = 'mcp_counter__echo';
const gate = 'mcp_counter__gate';

test('an agent has so many calls under way, and one more is refused until one is answered', async () => {
  await using site = await startSharedFaceStack({}, { limits: { requestsPerAgent: 2 } });
  const opener = `${site.stack.directory}/open`;
  await using rosa = await site.shim('rosa');
  await using wim = await site.shim('wim');
  const held = [2, 3].map((n) => rosa.call(n, gate, { file: opener }));
  await expect.poll(() => site.stack.ran('gate').length).toBe(2);
  expect(await rosa.call(4, echo)).toMatchObject({
    error: { message: expect.stringContaining("agent 'rosa' has 2 requests under way here") },
  });
  expect(await wim.call(2, echo)).toHaveProperty('result');
  await writeFile(opener, '');
  await Promise.all(held);
  expect(await rosa.call(5, echo)).toHaveProperty('result');
});

test('a call without an ordinal, or with the id of one that is under way, is not made, so that no call goes uncounted', async () => {
  await using site = await startSharedFaceStack({}, { limits: { requestsPerAgent: 1 } });
  const opener = `${site.stack.directory}/open`;
  await using rosa = await site.shim('rosa');
  const held = rosa.call(2, gate, { file: opener });
  await expect.poll(() => site.stack.ran('gate').length).toBe(1);
  const call = (id: number): string =>
    JSON.stringify({ jsonrpc: '2.0', id, method: 'tools/call', params: { name: count, arguments: {} } });
  rosa.write(`3 ${call(2)}`);
  rosa.write(`0 ${call(9)}`);
  // All lines before this one were taken when it is answered.
  expect(await rosa.call(4, count)).toMatchObject({ error: { message: expect.stringContaining('has 1') } });
  await writeFile(opener, '');
  expect(await held).toHaveProperty('result');
  expect(await rosa.call(5, echo)).toHaveProperty('result');
  expect(site.stack.ran('count')).toEqual([]);
});

test('a request that is too long is answered, and costs its connection nothing', async () => {
  await using site = await startSharedFaceStack({}, { limits: { bodyBytes: 100_000 } });
  await using rosa = await site.shim('rosa');
  expect(await rosa.call(2, echo, { text: 'x'.repeat(200_000) })).toMatchObject({
    id: 2,
    error: { code: -32600, message: expect.stringContaining('at most 100000 bytes') },
  });
  rosa.write('no ordinal at all');
  rosa.write('3 no JSON');
  rosa.write('4 17');
  expect(await rosa.call(5, echo, { text: 'short' })).toMatchObject({
    result: { structuredContent: { text: 'short' } },
  });
  rosa.write('x'.repeat(200_000));
  expect(await rosa.line('ended')).toMatchObject({ ended: { code: 'message_too_large', retryable: true } });
  await rosa.closed;
});

test('a connection that does not say hello is closed, and the oldest one for a newer one', async () => {
  await using site = await startSharedFaceStack({}, { limits: { idleConnections: 2 }, helloTimeoutMs: 300 });
  await using rosa = await site.shim('rosa');
  await using first = await connectShim(site.path, false);
  await using _second = await connectShim(site.path, false);
  await using third = await connectShim(site.path, false);
  await first.closed;
  expect(third.socket.destroyed).toBe(false);
  await third.closed;
  await using long = await connectShim(site.path, false);
  long.write('x'.repeat(65 * 1024));
  await long.closed;
  expect(await rosa.call(2, echo)).toHaveProperty('result');
});

test('a client that reads nothing is cut off, and what it did not read is not kept', async () => {
  await using site = await startSharedFaceStack({}, { limits: { unreadBytes: 200_000 } });
  await using rosa = await site.shim('rosa');
  await using wim = await site.shim('wim');
  rosa.socket.pause();
  for (let n = 2; n < 500; n++) rosa.request(n, 'tools/list');
  await expect.poll(() => site.events.map(({ event, agent }) => `${agent} ${event}`)).toContain('rosa ended');
  expect(await wim.call(2, echo)).toHaveProperty('result');
});
