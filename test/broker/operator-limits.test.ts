import { defaultLimits } from '@signalbox/protocol';
import { auditKinds } from '@signalbox/store';
import { areStoresInFiles, connectWire, startTestBroker } from '@signalbox/testing';
import { expect, it } from 'vitest';
import { admin, connect, connectOperator, deliver, subscribe } from '../support/broker/wire-actions.ts';

const minute = 60_000;

/** A broker with limits of its own, and a clock that is moved. */
async function startLimited(limits: Parameters<typeof startTestBroker>[0] & object = {}) {
  let now = 1_800_000_000_000;
  const broker = await startTestBroker({ now: () => now, ...limits });
  return {
    broker,
    advance: (ms: number) => {
      now += ms;
    },
    [Symbol.asyncDispose]: () => broker[Symbol.asyncDispose](),
  };
}

it('tries a message as often as the operator says, and drops its dead letter at the age that the operator says', async () => {
  const limits = { message: { attempts: 2 }, deadLetters: { ageMs: 5 * minute } };
  await using site = await startLimited({ limits });
  const { broker } = site;
  await using operator = await connectOperator(broker);
  await using alice = await connect(broker, 'alice');
  await using bob = await connect(broker, 'bob');
  await subscribe(bob);
  await deliver(alice, 'bob', 'hard', { kind: 'note' });
  for (const request_id of ['one', 'two']) {
    const { seq } = await bob.next('message');
    bob.send({ type: 'nack', seqs: [seq], request_id });
    await bob.next('ack_result');
  }
  const dead = async () => {
    const { messages } = await admin(operator, 'dead_list');
    return (messages as { reason: string }[]).map(({ reason }) => reason);
  };
  expect(await dead()).toEqual([expect.stringMatching(/^tried 2 times/)]);
  site.advance(4 * minute);
  expect(await dead()).toHaveLength(1);
  site.advance(2 * minute);
  await expect.poll(dead).toEqual([]);
});

// A database's monotonic clock is not moved by tests: its incarnations would end. Its own tests show that its slices are forgotten.
it.runIf(areStoresInFiles)(
  'forgets settled messages at the age that the operator says, and tells clients for how long they may repeat one',
  async () => {
    await using site = await startLimited({
      limits: { settled: { ageMs: 2 * minute, repeatMs: minute }, connections: { heartbeatMs: 2000 } },
    });
    const { broker } = site;
    await using operator = await connectOperator(broker);
    await using bob = await connect(broker, 'bob');
    expect(bob.received[0]).toMatchObject({
      type: 'welcome',
      dedupe_window_ms: minute,
      heartbeat_ms: 2000,
      limits: { settled: { ageMs: 2 * minute }, message: { attempts: 5 } },
    });
    await subscribe(bob);
    await deliver(operator, 'bob', 'brief', { kind: 'note' });
    const { seq } = await bob.next('message');
    bob.send({ type: 'ack', seqs: [seq], request_id: 'a' });
    await bob.next('ack_result');
    const remembered = async () => {
      const { messages } = await admin(operator, 'history', { since: 0 });
      return (messages as { id: string }[]).some(({ id }) => id === 'brief');
    };
    expect(await remembered()).toBe(true);
    let minutes = 0;
    await expect
      .poll(async () => {
        site.advance(minute);
        minutes++;
        return await remembered();
      })
      .toBe(false);
    expect(minutes).toBeLessThan(120);
  },
);

it('closes a stranger after the time that the operator says', async () => {
  await using broker = await startTestBroker({ limits: { connections: { helloMs: 100 } } });
  const began = performance.now();
  await using stranger = await connectWire(broker.url, undefined);
  await stranger.closed;
  expect(performance.now() - began).toBeLessThan(defaultLimits.connections.helloMs);
});

it('lets no minting token issue tokens when the log of changes has the bytes that the operator says', async () => {
  await using broker = await startTestBroker({ limits: { audit: { changeBytes: 1 } } });
  await using minter = await connectWire(broker.url, {
    agent: 'ci-0',
    token: await broker.token('ci-*', 'tester'),
  });
  minter.send({
    type: 'admin',
    request_id: 'i',
    op: 'token_issue',
    params: { agent: 'ci-1', role: 'tester' },
  });
  expect(await minter.next('error')).toMatchObject({
    code: 'storage_full',
    message: expect.stringContaining('the audit log of changes is full'),
  });
});

it('has the budgets of the audit log as its defaults', () => {
  const { audit } = defaultLimits;
  const budgets = Object.entries(auditKinds).map(([kind, { maxBytes }]) => [`${kind}Bytes`, maxBytes]);
  expect(audit).toEqual(Object.fromEntries(budgets));
});
