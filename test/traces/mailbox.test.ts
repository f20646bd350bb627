import { expect, test } from 'vitest';
import { recordSpans } from '../support/traces/span-recorder.ts';
import { connectMailbox, startMailboxStack } from '../support/worker/mailbox-client.ts';

test('a question between two mailboxes is one trace, linked to the tool calls of the agent that answers', async () => {
  const { tracing, spans, span } = recordSpans();
  await using stack = await startMailboxStack();
  const walt = await connectMailbox(await stack.executor('walt', 'worker', { tracing }));
  const rosa = await connectMailbox(await stack.executor('rosa', 'worker', { tracing }));
  const asking = rosa.use('ask_agent', { to: 'walt', text: 'hunter2?' });
  const { data } = await walt.use('inbox_wait');
  await walt.use('inbox_read');
  await walt.use('reply', { message_id: data.messages[0].id, text: 'yes' });
  expect((await asking).data).toMatchObject({ status: 'answered' });

  const { traceId } = span('tools/call signalbox_ask_agent');
  const ofQuestion = spans().filter((one) => one.traceId === traceId);
  expect(ofQuestion.map(({ name, kind, parent, links }) => [name, kind, parent, links])).toEqual(
    expect.arrayContaining([
      ['tools/call signalbox_ask_agent', 'server', undefined, []],
      ['send walt', 'producer', 'tools/call signalbox_ask_agent', []],
      ['receive walt', 'client', 'send walt', ['tools/call signalbox_inbox_wait']],
      ['send rosa', 'producer', 'receive walt', ['tools/call signalbox_reply']],
      ['receive rosa', 'client', 'send rosa', []],
    ]),
  );
  expect(ofQuestion).toHaveLength(5);
  expect(JSON.stringify(spans())).not.toContain('hunter2');
});

test.each([
  ['a later process of the agent', ['one', 'two']],
  ['the next face of the same process', ['one', 'one']],
])('a message that %s reads again is linked to the first read', async (_, [before, after]) => {
  const { tracing, spans } = recordSpans();
  await using stack = await startMailboxStack();
  const rosa = await connectMailbox(await stack.executor('rosa'));
  const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
  await stack.broker.tokenOf('walt', 'worker');
  await rosa.use('send_message', { to: 'walt', text: 'read me' }, { params: { _meta: { traceparent } } });
  const reads = () => spans().filter(({ name }) => name === 'receive walt');

  const read = async (consumerId: string | undefined) =>
    connectMailbox(await stack.executor('walt', 'worker', { tracing }), consumerId ? { consumerId } : {});
  const first = await read(before);
  await first.use('inbox_read');
  await first.face.close();
  const second = await read(after);
  await second.use('inbox_read');
  expect(reads().map(({ parentId, links }) => [parentId, links])).toEqual([
    ['b7ad6b7169203331', ['tools/call signalbox_inbox_read']],
    ['b7ad6b7169203331', ['receive walt', 'tools/call signalbox_inbox_read']],
  ]);
});

test('without tracing, the trace of a question reaches the reply', async () => {
  await using stack = await startMailboxStack();
  const walt = await stack.mailbox('walt');
  const rosa = await stack.clientAt('rosa');
  const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
  const asking = rosa.request('walt', 'ask', { text: '?' }, { timeoutMs: 20_000, traceparent });
  const { data } = await walt.use('inbox_wait');
  await walt.use('reply', { message_id: data.messages[0].id, text: 'yes' });
  expect(await asking).toMatchObject({ reply: { traceparent } });
});
