import { issueToken } from '@signalbox/client/operator';
import { connectWire } from '@signalbox/testing';
import { describe, expect, it } from 'vitest';
import { serverUrl } from '../support/postgres/test-store.ts';
import { startTwoBrokerProcesses } from '../support/postgres/two-brokers.ts';

describe.skipIf(serverUrl === undefined)('Over several brokers', () => {
  it('tail tells what happens at all of them, each event once, and of one that ends without a word', async () => {
    await using site = await startTwoBrokerProcesses();
    const { token } = await issueToken(site.operator, { agent: 'operator.watcher', role: 'operator' });
    await using watcher = await connectWire(site.one.ready.url, { agent: 'operator.watcher', token });
    watcher.send({ type: 'admin', request_id: 't', op: 'tail', params: { on: true } });
    await watcher.next('admin_result');
    const notice = async () => JSON.parse((await watcher.next('message')).body!);
    await using ann = await site.connect('ann', [site.one]);
    await using bob = await site.connect('bob', [site.other]);
    await using inbox = await bob.subscribe();
    // Stored by one of them, and handed out and settled by the other.
    await ann.deliver({ to: 'bob', kind: 'note', id: 'n' });
    const { seq } = (await inbox.messages.next()).value!;
    await bob.ack([seq!]);
    await bob.deliver({ to: 'nobody', kind: 'note' }).catch(() => {});
    await site.operator.admin('hold', { on: 'agent', name: 'ann', reason: 'a test' });
    const told = [await notice(), await notice(), await notice(), await notice(), await notice()];
    const words = told.map(({ what, message }) => (message ? `${what} ${message.id}` : what));
    // The hold is told by the broker of the watcher, and comes before what the other one sends a moment later.
    expect(words.toSorted()).toEqual(['delivered n', 'hold_placed', 'refused', 'settled n', 'stored n']);
    await site.other.end('SIGKILL');
    expect(await notice()).toMatchObject({ what: 'gap', broker: 'other' });
  });

  it('only operators are told and shown the private part of a status', async () => {
    await using site = await startTwoBrokerProcesses();
    const watch = async (role: 'operator' | 'observer') => {
      const agent = `operator.${role}`;
      const { token } = await issueToken(site.operator, { agent, role });
      const client = await connectWire(site.one.ready.url, { agent, token });
      client.send({ type: 'admin', request_id: 't', op: 'tail', params: { on: true } });
      await client.next('admin_result');
      return client;
    };
    await using operator = await watch('operator');
    await using observer = await watch('observer');
    await using bob = await site.connect('bob', [site.other]);
    bob.announce({ step: 1, private: { a: 1 } });
    const notice = async (client: typeof operator) => JSON.parse((await client.next('message')).body!);
    expect(await notice(operator)).toMatchObject({
      what: 'announced',
      from: { agent: 'bob' },
      private: { a: 1 },
    });
    await bob.deliver({ to: 'bob', kind: 'note', id: 'later' });
    expect(await notice(observer)).toMatchObject({ what: 'stored', message: { id: 'later' } });
    const shown = async (client: typeof operator) => {
      client.send({ type: 'list_connected', request_id: 'l', with_status: true, agent: 'bob' });
      return ((await client.next('connected')) as unknown as { agents: { status: unknown }[] }).agents[0]
        ?.status;
    };
    // A broker writes down what its agents announce a moment later.
    await expect.poll(() => shown(operator)).toEqual({ step: 1, private: { a: 1 } });
    expect(await shown(observer)).toEqual({ step: 1 });
  });

  it('the exit of a worker is told with what it had in hand at another one', async () => {
    await using site = await startTwoBrokerProcesses();
    const { id, token } = await issueToken(site.operator, { agent: 'eve', role: 'worker' });
    await using boss = await site.connect('bob', [site.one]);
    await using told = await boss.subscribe();
    await using eve = await site.connect('eve', [site.other], { token });
    await using inbox = await eve.subscribe();
    await boss.deliver({ to: 'eve', kind: 'task', id: 'in-hand' });
    const { seq } = (await inbox.messages.next()).value!;
    eve.working([seq!]);
    // The broker has read that when it answers what came later on this connection.
    await eve.peek();
    const exited = { tell: 'bob', code: null, signal: 'SIGKILL' };
    expect(await site.operator.admin('token_revoke', { id, exited })).toMatchObject({
      revoked: true,
      told: true,
      held_ids: ['in-hand'],
    });
    expect(await eve.closed).toMatchObject({ code: 'unauthorized' });
    const { body } = (await told.messages.next()).value!;
    expect(JSON.parse(body!)).toMatchObject({ event: 'worker_exited', agent: 'eve', held_ids: ['in-hand'] });
  });
});
