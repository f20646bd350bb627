import {
  areStoresInFiles,
  connectWire,
  startBrokerProcess,
  startTestBroker,
  tempDir,
} from '@signalbox/testing';
import { describe, expect, it, vi } from 'vitest';
import { setUp } from '../support/broker/undeliverable.ts';
import {
  admin,
  barrier,
  connect,
  deliver,
  subscribe,
  undeliverable,
} from '../support/broker/wire-actions.ts';

const aWeek = 7 * 24 * 60 * 60 * 1000;

describe('the sender of a request', () => {
  it('is told by the wall clock, behind a backlog of thousands too, whether its request waits, was given back or was left', async () => {
    await using broker = await startTestBroker({
      limits: {
        recipient: { messages: 1e6 },
        senderToRecipient: { messages: 1e6 },
        rates: { messagesBurst: 1e6 },
      },
    });
    await using alice = await connect(broker, 'alice');
    await broker.token('bob');
    for (let i = 0; i < 8000; i++)
      alice.send({ type: 'deliver', to: 'bob', id: `m${i}`, kind: 'note' }, '{}');
    await alice.next('delivered', { id: 'm7999' });
    await subscribe(alice);
    await using kim = await connect(broker, 'kim');
    await subscribe(kim);
    for (const id of ['returned', 'left']) await deliver(alice, 'kim', id, { ttl_ms: 600 });
    const { seq } = await kim.next('message', { id: 'returned' });
    kim.send({ type: 'nack', seqs: [seq], delay_ms: 60_000 });
    await barrier(kim);
    await kim[Symbol.asyncDispose]();
    await deliver(alice, 'bob', 'waits', { ttl_ms: 600 });
    const told: unknown[] = [];
    while (told.length < 3) told.push((await undeliverable(alice)).correlation_id);
    expect(new Set(told)).toEqual(new Set(['returned', 'left', 'waits']));
  });

  it('is told when the sub-inbox it wrote to is emptied because nobody holds it', async () => {
    await using setup = await setUp();
    const { alice } = setup;
    await deliver(alice, 'bob#gone', 'q', { ttl_ms: aWeek });
    const told = undeliverable(alice);
    await vi.waitFor(
      () => {
        setup.advance(200_000);
        expect(alice.received.some(({ kind }) => kind === 'undeliverable')).toBe(true);
      },
      { interval: 300 },
    );
    expect((await told).why).toEqual({
      reason: 'dropped',
      may_have_run: false,
      detail: 'nobody held the sub-inbox',
    });
  });
});

// A database still knows that nobody was given the request.
it('tells exactly once over kill -9 and restarts, and says that it may have run where it cannot know', async () => {
  await using dir = await tempDir();
  const dataDir = `${dir.path}/data`;
  const first = await startBrokerProcess(dataDir);
  const operator = { agent: 'operator', token: await first.operatorToken() };
  {
    await using client = await connectWire(first.url, operator);
    await admin(client, 'token_issue', { agent: 'bob', role: 'worker' });
    await deliver(client, 'bob', 'q', { ttl_ms: 300 });
  }
  await first.kill();
  for (let restart = 0; restart < 3; restart++) {
    await using next = await startBrokerProcess(dataDir, first.port);
    await using client = await connectWire(next.url, operator);
    await vi.waitFor(async () => {
      client.send({ type: 'peek', request_id: 'p' });
      const { messages } = await client.next('peeked');
      expect(messages).toMatchObject([{ id: 're:q', kind: 'undeliverable' }]);
      const [{ body }] = messages as [{ body: string }];
      expect(JSON.parse(body)).toEqual({ reason: 'expired', may_have_run: areStoresInFiles });
    });
    await next.kill();
  }
});
