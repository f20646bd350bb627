import { test } from 'vitest';
import { startMailboxStack } from '../support/worker/mailbox-client.ts';

test.concurrent('Two agents that ask each other are both told so, answer, and get their answers.', async ({
  expect,
}) => {
  await using mail = await startMailboxStack();
  const rosa = await mail.mailbox('rosa');
  const walt = await mail.mailbox('walt');
  // One of them holds its inbox already, with a note in it that was read.
  const looking = await mail.clientAt('nemo');
  await looking.deliver({ to: 'walt', kind: 'note', body: 'before' });
  await walt.use('inbox_read');

  const [ofRosa, ofWalt] = await Promise.all([
    rosa.use('ask_agent', { to: 'walt', text: 'how many?' }),
    walt.use('ask_agent', { to: 'rosa', text: 'of which?' }),
  ]);
  expect(ofRosa).toMatchObject({
    isError: false,
    data: {
      status: 'pending',
      ask_id: expect.any(String),
      waiting_questions: [{ from: 'walt', id: ofWalt.data.ask_id }],
    },
  });
  expect(ofRosa.text).toContain(`walt asks you something itself: question ${ofWalt.data.ask_id}.`);
  expect(ofWalt.data.waiting_questions).toEqual([{ from: 'rosa', id: ofRosa.data.ask_id }]);

  // They were told once: now each waits for the other, which answers first and asks for its own answer then.
  const waiting = walt.use('ask_result', { ask_id: ofWalt.data.ask_id });
  await rosa.use('inbox_read');
  await rosa.use('reply', { message_id: ofWalt.data.ask_id, text: 'of the red ones' });
  expect((await waiting).data).toMatchObject({ status: 'answered', body: 'of the red ones' });
  const next = rosa.use('ask_result', { ask_id: ofRosa.data.ask_id });
  await walt.use('inbox_read');
  await walt.use('reply', { message_id: ofRosa.data.ask_id, text: 'three' });
  expect((await next).data).toMatchObject({ status: 'answered', body: 'three' });
});

test.concurrent('A question that waits already ends the wait for the agent that asks it, for each ask once, unless it was read.', async ({
  expect,
}) => {
  await using mail = await startMailboxStack();
  const rosa = await mail.mailbox('rosa', 'worker', { askWaitMs: 1_500 });
  const walt = await mail.clientAt('walt');
  await walt.deliver({ to: 'rosa', kind: 'task', id: 'task', body: 'no question' });
  await walt.deliver({ to: 'rosa', kind: 'ask', id: 'first', body: '?' });
  const told = await rosa.use('ask_agent', { to: 'walt', text: 'one' });
  expect(told.data.waiting_questions).toEqual([{ from: 'walt', id: 'first' }]);
  const again = await rosa.use('ask_result', { ask_id: told.data.ask_id });
  expect(again.data).toEqual({ status: 'pending', ask_id: told.data.ask_id });
  const other = await rosa.use('ask_agent', { to: 'walt', text: 'two' });
  expect(other.data.waiting_questions).toEqual([{ from: 'walt', id: 'first' }]);
  await rosa.use('inbox_read');
  const read = await rosa.use('ask_agent', { to: 'walt', text: 'three' });
  expect(read.data).toEqual({ status: 'pending', ask_id: read.data.ask_id });
});

test.concurrent('In a ring of asks, each agent is told of the one that asks it.', async ({ expect }) => {
  await using mail = await startMailboxStack();
  const times = { othersAskAfterMs: 100 };
  const agents = await Promise.all(['a', 'b', 'c'].map((name) => mail.mailbox(name, 'worker', times)));
  const [a, b, c] = agents as [(typeof agents)[0], (typeof agents)[0], (typeof agents)[0]];
  const ring = await Promise.all([
    a.use('ask_agent', { to: 'b', text: '?' }),
    b.use('ask_agent', { to: 'c', text: '?' }),
    c.use('ask_agent', { to: 'a', text: '?' }),
  ]);
  // The first that is told answers nobody here, so that all of them are told.
  expect(ring.map(({ data }) => data.waiting_questions)).toEqual([
    [{ from: 'c', id: ring[2].data.ask_id }],
    [{ from: 'a', id: ring[0].data.ask_id }],
    [{ from: 'b', id: ring[1].data.ask_id }],
  ]);
  expect(ring[0].text).toContain('c asks you something: question');
});
