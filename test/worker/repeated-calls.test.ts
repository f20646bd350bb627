import { existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { openSqliteJournal } from '@signalbox/store/journal';
import { tempDir } from '@signalbox/testing';
import { expect, test } from 'vitest';
import { withoutLanes } from '../support/without-lanes.ts';
import { contentOf, replaceFace } from '../support/worker/repeated-calls.ts';
import { newConsumer, type SharedFaceStack, startSharedFaceStack } from '../support/worker/shared-face.ts';

const count = 'mcp_counter__count';
const gate = 'mcp_counter__gate';

/** Starts a call of the gate over a face, which goes on when the file `opener` is there. */
async function startGate(site: SharedFaceStack) {
  const consumer = newConsumer();
  const opener = `${site.stack.directory}/open`;
  const shim = await site.shim('rosa', { consumer });
  shim.request(2, 'tools/call', { name: gate, arguments: { file: opener } });
  await expect.poll(() => site.stack.ran('gate').length).toBe(1);
  return { consumer, opener, shim };
}

test('a call that runs when the face ends goes on, and its result is picked up at the next face', async () => {
  await using site = await startSharedFaceStack();
  const { consumer, opener, shim } = await startGate(site);
  await using first = shim;
  await site.face.close();
  expect(await first.line('ended')).toMatchObject({ ended: { code: 'shutting_down', retryable: true } });
  expect(first.lines.at(-1)).toHaveProperty('ended');
  expect(existsSync(site.path)).toBe(false);

  site.face = await site.serve();
  await using second = await site.shim('rosa', { consumer });
  const answer = second.call(2, gate, { file: opener });
  await writeFile(opener, '');
  expect(await answer).toMatchObject({ result: { structuredContent: { highWater: 1 } } });
  expect(site.stack.ran('gate').map(({ at }) => at)).toEqual(['start', 'end']);
});

test('a result that came while no face was there is picked up', async () => {
  await using site = await startSharedFaceStack();
  const { consumer, opener, shim } = await startGate(site);
  await using _first = shim;
  await site.face.close();
  await writeFile(opener, '');
  const watcher = await site.stack.client('rosa');
  const waiting = () => watcher.peek({ address: `rosa#mcp-${consumer}` });
  await expect.poll(waiting).toMatchObject([{ kind: 'mcp_reply', correlation_id: `${consumer}-2` }]);

  site.face = await site.serve();
  await using second = await site.shim('rosa', { consumer });
  expect(await second.call(2, gate, { file: opener })).toMatchObject({
    result: { structuredContent: { highWater: 1 } },
  });
  expect(site.stack.ran('gate').map(({ at }) => at)).toEqual(['start', 'end']);
  await expect.poll(waiting).toEqual([]);
  const operator = await site.stack.clientAt('operator');
  expect(await operator.admin('dead_list', {})).toMatchObject({ messages: [] });
});

if (!withoutLanes)
  test('a face tells the epoch of its lane, and a call that an earlier face may have begun on a lane of another epoch is not made', async () => {
    await using opened = new AsyncDisposableStack();
    const { path } = opened.use(await tempDir());
    const journal = opened.use(await openSqliteJournal({ file: `${path}/journal.db` }));
    await using site = await startSharedFaceStack({ journal });
    await using shim = await site.shim('rosa');
    await shim.call(2, count);
    const { epoch } = await shim.line('epoch');
    const runs = () => site.stack.ran('count').filter(({ at }) => at === 'start').length;
    const callIn = async (n: number, named: unknown) => {
      const params = { name: count, arguments: {} };
      shim.write(`${n}@${named} ${JSON.stringify({ jsonrpc: '2.0', id: n, method: 'tools/call', params })}`);
      return await shim.line('id', n);
    };
    const operator = await site.stack.clientAt('operator');
    const stored = async () => (await operator.admin('history', { since: 0, limit: 100 })).messages.length;
    const before = await stored();
    expect(await callIn(3, epoch)).not.toHaveProperty('result.isError');
    expect({ runs: runs(), stored: await stored() }).toEqual({ runs: 2, stored: before });
    expect(await callIn(4, 'another')).toMatchObject({
      result: { structuredContent: { error: { code: 'outcome_unknown', may_have_run: true } } },
    });
    expect(runs()).toBe(2);
  });

test('a call that is given up while no face is there is cancelled by the next one', async () => {
  await using site = await startSharedFaceStack();
  const consumer = newConsumer();
  await using first = await site.shim('rosa', { consumer });
  const wim = await site.stack.clientAt('wim');
  const slow = { name: 'mcp_counter__slow', arguments: { ms: 60_000 } };
  const question = { name: 'signalbox_ask_agent', arguments: { to: 'wim', text: 'well?' } };
  first.request(2, 'tools/call', slow);
  first.request(3, 'tools/call', question);
  await expect.poll(() => site.stack.ran('slow').length).toBe(1);
  await expect.poll(async () => (await wim.peek()).length).toBe(1);
  await replaceFace(site);
  await using second = await site.shim('rosa', { consumer });
  for (const [n, params] of [slow, question].entries())
    second.write(`-${n + 2} ${JSON.stringify({ jsonrpc: '2.0', id: n + 2, method: 'tools/call', params })}`);
  for (const junk of ['x', '{}', '{"params":{"name":1}}']) second.write(`-9 ${junk}`);
  await expect.poll(() => site.stack.ran('slow').map(({ at }) => at)).toEqual(['start', 'cancelled']);
  await expect.poll(async () => (await wim.peek()).length).toBe(0);
  expect(await second.call(4, count)).toMatchObject({ result: { structuredContent: { n: 1 } } });
});

test('an inbox that was read at a dead face is read again, and its messages are answered without that', async () => {
  await using site = await startSharedFaceStack();
  const consumer = newConsumer();
  const wim = await site.stack.clientAt('wim');
  const answers = ['one', 'two'].map((id) => wim.request('rosa', 'task', id, { id, timeoutMs: 60_000 }));
  await using first = await site.shim('rosa', { consumer });
  const read = await first.call(2, 'signalbox_inbox_wait', { timeout_s: 20 });
  const { cursor } = contentOf(read);
  await replaceFace(site);

  await using second = await site.shim('rosa', { consumer });
  const reply = { message_id: 'one', text: 'done' };
  expect(await second.call(3, 'signalbox_reply', reply)).toMatchObject({
    result: { structuredContent: { replied_to: 'one' } },
  });
  expect(await answers[0]).toMatchObject({ status: 'completed', reply: { json: 'done' } });
  const again = contentOf(await second.call(4, 'signalbox_inbox_read', { ack: cursor }));
  expect(again).toMatchObject({
    ack_lost: true,
    acked: 0,
    messages: [{ id: 'two', attempt: 1, shown_before: true, shown_seconds_ago: expect.any(Number) }],
  });
  expect(contentOf(await second.call(5, 'signalbox_inbox_read', { ack: again.cursor }))).toMatchObject({
    acked: 1,
    messages: [],
  });
  expect(await second.call(6, 'signalbox_inbox_read', { ack: 'nonsense' })).toMatchObject({
    result: { isError: true },
  });
  // A reply that the dead face had sent is told from one that nobody knows.
  expect(await second.call(7, 'signalbox_reply', reply)).toMatchObject({
    result: { isError: true, _meta: { 'signalbox/error': { code: 'already_answered' } } },
  });
  await replaceFace(site);
  await using third = await site.shim('rosa', { consumer });
  expect(await third.call(3, 'signalbox_reply', reply)).toMatchObject({
    result: {
      structuredContent: { replied_to: 'one' },
      content: [{ text: expect.stringContaining('The reply to one is stored') }],
    },
  });
  // A call with another text stored nothing, although the message was answered.
  for (const unanswered of [
    { message_id: 'one' },
    { message_id: 'two' },
    { message_id: 'never' },
    { message_id: 'one', from: 'eva' },
  ])
    expect(await third.call(8, 'signalbox_reply', { text: 'done', ...unanswered })).toMatchObject({
      result: { _meta: { 'signalbox/error': { code: 'not_held', may_have_run: false } } },
    });
});

test('a reply that is repeated goes to the message that was read, and not to a later one of another agent with the same id', async () => {
  await using site = await startSharedFaceStack();
  const consumer = newConsumer();
  const wim = await site.stack.clientAt('wim');
  const eva = await site.stack.clientAt('eva');
  const question = { to: 'rosa', kind: 'ask', body: 'how are you?', id: 'q' };
  const answered = wim.request('rosa', 'ask', question.body, { id: 'q', timeoutMs: 60_000 });
  await using first = await site.shim('rosa', { consumer });
  await first.call(2, 'signalbox_inbox_wait', { timeout_s: 20 });
  const reply = { message_id: 'q', text: 'for wim only' };
  await first.call(3, 'signalbox_reply', reply);
  expect(await answered).toMatchObject({ status: 'completed', reply: { json: reply.text } });
  await eva.deliver(question);
  await replaceFace(site);
  await using second = await site.shim('rosa', { consumer });
  expect(await second.call(3, 'signalbox_reply', reply)).toMatchObject({
    result: { structuredContent: { replied_to: 'q' } },
  });
  // The dead face was to answer wim again, and did not come to it.
  expect(await second.call(4, 'signalbox_reply', { ...reply, text: 'another' })).toMatchObject({
    result: { _meta: { 'signalbox/error': { code: 'ambiguous', may_have_run: true } } },
  });
  expect(await eva.peek()).toEqual([]);
  expect(await second.call(5, 'signalbox_reply', { ...reply, text: 'for eva', from: 'eva' })).toMatchObject({
    result: { structuredContent: { to: 'eva' } },
  });
});
