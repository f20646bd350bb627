import { expect, test } from 'vitest';
import { contentOf, replaceFace } from '../support/worker/repeated-calls.ts';
import { newConsumer, startSharedFaceStack } from '../support/worker/shared-face.ts';

const count = 'mcp_counter__count';
const big = 'mcp_counter__big';

test('a result stays at the broker until it has left the face', async () => {
  await using site = await startSharedFaceStack();
  const consumer = newConsumer();
  await using first = await site.shim('rosa', { consumer });
  first.socket.pause();
  const bytes = 1_900_000;
  first.request(2, 'tools/call', { name: big, arguments: { bytes } });
  const watcher = await site.stack.client('rosa');
  const waiting = () => watcher.peek({ address: `rosa#mcp-${consumer}` });
  await expect.poll(waiting).toMatchObject([{ kind: 'mcp_reply' }]);
  // The client does not read, so the answer cannot have left; the next call shows that the face has dealt with the reply.
  await using other = await site.shim('rosa');
  await other.call(2, count);
  await site.face.close();
  expect(await waiting()).toMatchObject([{ kind: 'mcp_reply' }]);
  site.face = await site.serve();
  await using second = await site.shim('rosa', { consumer });
  const { result } = await second.call(2, big, { bytes });
  expect(JSON.stringify(result).length).toBeGreaterThan(bytes);
  expect(site.stack.ran('big').filter(({ at }) => at === 'start')).toHaveLength(1);
  await expect.poll(waiting).toEqual([]);
});

test('the reply that a dead process was pushed and did not read is found by its successor, although the orchestrator has forgotten it', async () => {
  await using site = await startSharedFaceStack();
  const consumer = newConsumer();
  const bytes = 1_900_000;
  await using first = await site.shim('rosa', { consumer });
  first.socket.pause();
  first.request(2, 'tools/call', { name: big, arguments: { bytes } });
  const watcher = await site.stack.client('rosa');
  const waiting = () => watcher.peek({ address: `rosa#mcp-${consumer}`, bodies: false });
  await expect.poll(waiting).toMatchObject([{ kind: 'mcp_reply' }]);
  await using other = await site.shim('wim');
  // The orchestrator keeps 16 MiB of the newest replies in memory.
  for (let n = 2; n < 12; n++) await other.call(n, big, { bytes });
  await replaceFace(site);

  await using successor = await site.shim('rosa');
  const { result } = await successor.call(2, 'signalbox_call_result', { call_id: `${consumer}-2` });
  expect(JSON.stringify(result).length).toBeGreaterThan(bytes);
  expect(result).not.toHaveProperty('isError');
  await using stranger = await site.shim('eva');
  expect(await stranger.call(2, 'signalbox_call_result', { call_id: `${consumer}-2` })).toMatchObject({
    result: { isError: true, content: [{ text: expect.stringContaining('unknown_call') }] },
  });
});

test('a call that is repeated after its answer is not made again: the orchestrator says what became of it', async () => {
  await using site = await startSharedFaceStack();
  const consumer = newConsumer();
  await using first = await site.shim('rosa', { consumer });
  expect(await first.call(2, count)).toMatchObject({ result: { structuredContent: { n: 1 } } });
  await replaceFace(site);
  await using second = await site.shim('rosa', { consumer });
  expect(await second.call(2, count)).toMatchObject({ result: { structuredContent: { n: 1 } } });
  expect(site.stack.ran('count').filter(({ at }) => at === 'start')).toHaveLength(1);
  expect(await second.call(3, count)).toMatchObject({ result: { structuredContent: { n: 2 } } });
});

test('a question that was left pending is answered at the next face, and is kept until its answer has left', async () => {
  await using site = await startSharedFaceStack({}, { face: { version: '1.2.3', askWaitMs: 1_000 } });
  const consumer = newConsumer();
  const wim = await site.stack.clientAt('wim');
  const question = { name: 'signalbox_ask_agent', arguments: { to: 'wim', text: 'how are you?' } };
  const again = JSON.stringify({
    ...{ jsonrpc: '2.0', id: 'signalbox-shim:2', method: 'tools/call' },
    params: question,
  });
  const waiting = async () =>
    (await (await site.stack.client('rosa')).peek({ address: `rosa#mcp-${consumer}` })).length;
  await using first = await site.shim('rosa', { consumer });
  const left = contentOf(await first.call(2, question.name, question.arguments));
  expect(left).toMatchObject({ status: 'pending', ask_id: `${consumer}-2` });
  expect(first.lines.at(-2)).toEqual({ kept: 2 });
  await replaceFace(site);

  // The answer comes before anybody asks for it, and is there at two faces.
  await using second = await site.shim('rosa', { consumer });
  second.write(`2 ${again}`);
  expect(await second.line('id', 'signalbox-shim:2')).toHaveProperty('result');
  await using _loop = await wim.serve(['ask'], async () => ({ kind: 'reply', body: 'well' }));
  await expect.poll(waiting).toBe(1);
  await replaceFace(site);
  await using third = await site.shim('rosa', { consumer });
  third.write(`2 ${again}`);
  const answer = contentOf(await third.call(3, 'signalbox_ask_result', { ask_id: left.ask_id }));
  expect(answer).toMatchObject({ status: 'answered', body: 'well' });
  await third.line('dropped', 2);
  await expect.poll(waiting).toBe(0);
});

test('messages and questions of repeated calls are stored once, and the answer to a question is picked up', async () => {
  await using site = await startSharedFaceStack();
  const consumer = newConsumer();
  const wim = await site.stack.clientAt('wim');
  await using first = await site.shim('rosa', { consumer });
  const note = { to: 'wim', text: 'hello' };
  const question = { to: 'wim', text: 'how are you?' };
  const stored = await first.call(2, 'signalbox_send_message', note);
  expect(stored).toMatchObject({ result: { structuredContent: { id: `${consumer}-2` } } });
  first.request(3, 'tools/call', { name: 'signalbox_ask_agent', arguments: question });
  await expect.poll(async () => (await wim.peek()).length).toBe(2);
  await replaceFace(site);

  await using second = await site.shim('rosa', { consumer });
  expect(await second.call(2, 'signalbox_send_message', note)).toMatchObject({
    result: { structuredContent: { id: `${consumer}-2`, duplicate: true } },
  });
  const answer = second.call(3, 'signalbox_ask_agent', question);
  await using _loop = await wim.serve(['ask'], async () => ({ kind: 'reply', body: 'well' }));
  expect(await answer).toMatchObject({ result: { structuredContent: { status: 'answered', body: 'well' } } });
  expect(await wim.peek()).toMatchObject([{ kind: 'note' }]);
});
