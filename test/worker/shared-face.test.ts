import { statSync } from 'node:fs';
import { link } from 'node:fs/promises';
import { createServer } from 'node:net';
import { expect, test } from 'vitest';
import { connectShim, startSharedFaceStack } from '../support/worker/shared-face.ts';

const count = 'mcp_counter__count';

test('a shim is welcomed with the identity that the broker attests, and its calls run', async () => {
  await using site = await startSharedFaceStack();
  await using rosa = await site.shim('rosa');
  expect(await rosa.line('welcome')).toEqual({ welcome: { agent: 'rosa', role: 'worker' } });
  rosa.request(2, 'tools/list');
  const { result } = await rosa.line('id', 2);
  expect(result).toMatchObject({ tools: expect.arrayContaining([expect.objectContaining({ name: count })]) });
  expect(await rosa.call(3, count)).toMatchObject({ result: { structuredContent: { n: 1 } } });
  expect(site.events).toMatchObject([
    { event: 'connected', agent: 'rosa' },
    { event: 'listed', agent: 'rosa' },
  ]);
  expect(statSync(site.path).mode & 0o777).toBe(0o600);
});

test('a connection that cannot be served is told why', async () => {
  await using site = await startSharedFaceStack();
  const token = await site.stack.broker.tokenOf('rosa', 'worker');
  const refusal = async (hello: Record<string, unknown>) => {
    await using shim = await connectShim(site.path, hello, { initialize: false });
    const { refused } = await shim.line('refused');
    await shim.closed;
    return refused;
  };
  expect(await refusal({ token: token.replace(/.$/, (last) => (last === 'a' ? 'b' : 'a')) })).toMatchObject({
    code: 'unauthorized',
    retryable: false,
  });
  expect(await refusal({ token, agent: 'eva' })).toMatchObject({ code: 'forged_sender', retryable: false });
  expect(await refusal({ token: await site.stack.broker.operatorToken() })).toMatchObject({
    code: 'forbidden',
  });
  expect(await refusal({ token, url: 'ws://127.0.0.1:1' })).toMatchObject({ code: 'wrong_broker' });
  expect(await refusal({ token, consumer: 'short' })).toMatchObject({ code: 'bad_hello' });
  const localhost = site.stack.broker.url.replace('127.0.0.1', 'localhost');
  await using known = await site.shim('rosa', { url: `ws://127.0.0.1:1,${localhost}` });
  expect(known.lines[0]).toHaveProperty('welcome');
});

test('the socket of a dead face is replaced, and a living face is left alone', async () => {
  await using site = await startSharedFaceStack();
  await expect(site.serve()).rejects.toMatchObject({ code: 'face_running' });
  await site.face.close();
  const dead = createServer().listen(site.path);
  await new Promise((resolve) => dead.once('listening', resolve));
  // The file stays when its process is killed; a server that is closed would remove it.
  const stale = `${site.path}.stale`;
  await link(site.path, stale);
  await new Promise((resolve) => dead.close(resolve));
  site.face = await site.serve({ path: stale });
  expect(site.face.path).toBe(stale);
});

test('a process of several turns shows its key and acts in the turn that runs; its shims wait between turns, and others are refused', async () => {
  await using site = await startSharedFaceStack();
  const token = await site.stack.broker.tokenOf('rosa', 'worker');
  await using place = await site.face.openSeat(`${site.path}.seat`);
  const { seat, path } = place;
  await using stranger = await connectShim(path, { token }, { initialize: false });
  expect(await stranger.line('refused')).toMatchObject({ refused: { code: 'unauthorized' } });
  await using early = await connectShim(path, { token: seat.key }, { initialize: false });
  expect(await early.line('waits')).toMatchObject({ waits: { code: 'no_turn', retryable: true } });
  // A shim says nothing before it is welcomed.
  await using rude = await connectShim(path, { token: seat.key }, { initialize: false });
  await rude.line('waits');
  rude.call(1, count).catch(() => {});
  await rude.closed;
  seat.begin({ token, turn: { seqs: [7], thread: 'T' } });
  expect(await early.line('welcome')).toEqual({ welcome: { agent: 'rosa', role: 'worker' } });
  await expect.poll(() => site.events).toMatchObject([{ event: 'connected', token, turn: { seqs: [7] } }]);
  await seat.end();
  expect(await early.line('ended')).toMatchObject({ ended: { code: 'no_turn' } });
  await early.closed;
  await using later = await connectShim(path, { token: seat.key }, { initialize: false });
  await later.line('waits');
  expect(seat.known).toBe(1);
  await place[Symbol.asyncDispose]();
  await later.closed;
  expect(site.stack.ran('count')).toEqual([]);
});
