import { type BrokerClient, connectBroker, type Log, requestAddress } from '@signalbox/client';
import {
  issueToken,
  listDeadLetters,
  placeHold,
  readBrokerSamples,
  releaseHolds,
  stopWork,
} from '@signalbox/client/operator';
import type { TestBroker, WireClient } from '@signalbox/testing';
import { describe, expect, it } from 'vitest';
import { reached } from '../support/broker/broker-with-clients.ts';
import { connect, deliver } from '../support/broker/wire-actions.ts';
import { serverUrl, testSchema } from '../support/postgres/test-store.ts';
import { startTransactionPooler } from '../support/postgres/transaction-pooler.ts';
import { startTwoBrokerProcesses, startTwoBrokers } from '../support/postgres/two-brokers.ts';

const timeoutMs = 20_000;

async function operatorOf(broker: TestBroker): Promise<BrokerClient> {
  const token = await broker.operatorToken();
  return await connectBroker({ url: broker.url, token, agent: requestAddress('operator') });
}

describe.skipIf(serverUrl === undefined)('Two brokers on one schema', () => {
  it('hand a message that came to one of them to an agent at the other, and its reply back', async () => {
    await using site = await startTwoBrokerProcesses();
    await using ann = await site.connect('ann', [site.one]);
    await using bob = await site.connect('bob', [site.other]);
    expect(ann.welcome.broker_id).toBe(bob.welcome.broker_id);
    await bob.serve(['ask'], async ({ json }) => ({ kind: 'reply', body: json }));
    // Both brokers store messages for the same inbox, so that neither knows what comes before its own.
    const asks = Array.from({ length: 20 }, async (_, n) => {
      const outcome = await ann.request('bob', 'ask', n, { timeoutMs });
      return outcome.status === 'completed' ? outcome.reply.json : outcome;
    });
    const notes = Array.from({ length: 20 }, (_, n) => bob.deliver({ to: 'bob', kind: 'note', body: n }));
    expect(await Promise.all(asks)).toEqual(asks.map((_, n) => n));
    await Promise.all(notes);
    await using inbox = await bob.subscribe();
    const read: unknown[] = [];
    for await (const { seq, body } of inbox.messages) {
      read.push(JSON.parse(body!));
      await bob.ack([seq!]);
      if (read.length === notes.length) break;
    }
    expect(read).toEqual(notes.map((_, n) => n));
  });

  it('pass on what is not stored: requests, progress and cancels', async () => {
    await using site = await startTwoBrokerProcesses();
    await using ann = await site.connect('ann', [site.one]);
    await using bob = await site.connect('bob', [site.other]);
    const large = 'x'.repeat(20_000);
    const ended = Promise.withResolvers<void>();
    await bob.serve(['ask', 'task'], async ({ message, json, signal, progress }) => {
      progress(`${message.id} begins`);
      if (message.kind === 'ask') return { kind: 'reply', body: json };
      signal.addEventListener('abort', () => ended.resolve());
      await ended.promise;
      return { kind: 'reply', body: 'too late' };
    });
    const told: unknown[] = [];
    const onProgress = (step: unknown) => void told.push(step);
    const asked = await ann.request('bob', 'ask', large, {
      id: 'live',
      ephemeral: true,
      timeoutMs,
      onProgress,
    });
    expect(asked).toMatchObject({ status: 'completed' });
    const begun = Promise.withResolvers<void>();
    const giveUp = new AbortController();
    const task = ann.request('bob', 'task', null, {
      id: 'stored',
      timeoutMs,
      signal: giveUp.signal,
      onProgress: (step) => {
        onProgress(step);
        begun.resolve();
      },
    });
    await begun.promise;
    giveUp.abort();
    expect(await task).toMatchObject({ status: 'cancelled' });
    await ended.promise;
    expect(told).toEqual(['live begins', 'stored begins']);
    const nobody = Promise.withResolvers<unknown>();
    const log: Log = ({ event, ...facts }) => void (event === 'refused' && nobody.resolve(facts.code));
    await using eve = await site.connect('ann#eve', [site.one], { log });
    await eve.deliver({ to: 'ann#nobody', kind: 'note', ephemeral: true });
    expect(await nobody.promise).toBe('no_consumer');
  });

  it('stop the work of an agent that is at the other one', async () => {
    await using site = await startTwoBrokerProcesses();
    await using ann = await site.connect('ann', [site.one]);
    await using bob = await site.connect('bob', [site.other]);
    const stopped = Promise.withResolvers<unknown>();
    const begun = Promise.withResolvers<void>();
    await bob.serve(['ask'], async ({ signal }) => {
      signal.addEventListener('abort', () => stopped.resolve(signal.reason));
      begun.resolve();
      await stopped.promise;
      return { kind: 'reply', body: 'too late' };
    });
    const asked = ann.request('bob', 'ask', 'work', { id: 'a', timeoutMs });
    await begun.promise;
    await expect
      .poll(() => stopWork(site.operator, { agent: 'bob', id: 'a' }).catch(({ code }) => code))
      .toMatchObject([{ id: 'a', from: 'ann', inbox: 'bob' }]);
    expect(await stopped.promise).toMatchObject({
      code: 'stopped_by_operator',
      message: 'stopped by operator',
    });
    expect(await asked).toMatchObject({ status: 'undeliverable', detail: 'stopped by operator' });
    expect((await listDeadLetters(site.operator, { limit: 9 })).messages).toMatchObject([{ id: 'a' }]);
  });

  it('know what happens to tokens and holds at the other one', async () => {
    await using site = await startTwoBrokerProcesses();
    const { operator } = site;
    // The other broker has not heard of it when the client comes.
    const { id, token } = await issueToken(operator, { agent: 'eve', role: 'worker' });
    await using eve = await site.connect('eve', [site.other], { token });
    await using bob = await site.connect('bob', [site.one]);
    const sent = eve.deliver({ to: 'bob', kind: 'task', id: 'asked' });
    expect(await sent).toMatchObject({ duplicate: false });
    const hold = await placeHold(operator, { on: 'agent', name: 'eve', reason: 'a test' });
    await expect
      .poll(() => eve.deliver({ to: 'bob', kind: 'note' }).catch(({ code }: { code: string }) => code))
      .toBe('held');
    await releaseHolds(operator, { ids: [hold.id] });
    await expect
      .poll(() => eve.deliver({ to: 'bob', kind: 'note' }).catch(({ code }: { code: string }) => code))
      .toMatchObject({ duplicate: false });
    await operator.admin('token_revoke', { id });
    expect(await eve.closed).toMatchObject({ code: 'unauthorized' });
    await expect(site.connect('eve', [site.other], { token })).rejects.toMatchObject({
      code: 'unauthorized',
    });
    await using again = await site.connect('bob', [site.other]);
    expect(again.state.name).toBe('ready');
    expect(bob.state.name).toBe('ready');
  });

  it('lose nothing when one of them is killed: its agent is at the other, and gets what it had not acked and what came since', async () => {
    await using site = await startTwoBrokerProcesses();
    await using ann = await site.connect('ann', [site.one]);
    await using bob = await site.connect('bob', [site.other, site.one]);
    await using inbox = await bob.subscribe();
    for (const id of ['acked', 'unacked']) await ann.deliver({ to: 'bob', kind: 'note', id });
    const [acked, unacked] = [(await inbox.messages.next()).value!, (await inbox.messages.next()).value!];
    expect([acked.id, unacked.id]).toEqual(['acked', 'unacked']);
    expect(await bob.ack([acked.seq!])).toEqual({ accepted: [acked.seq], rejected: [] });
    await bob.deliver({ to: 'bob', kind: 'note', id: 'later', notBeforeMs: 1500 });
    const gone = reached(bob, 'reconnecting');
    await site.other.end('SIGKILL');
    await gone;
    await ann.deliver({ to: 'bob', kind: 'note', id: 'since' });
    await reached(bob, 'ready');
    expect(bob.url).toBe(site.one.ready.url);
    const again = [(await inbox.messages.next()).value!, (await inbox.messages.next()).value!];
    expect(again.map(({ id }) => id)).toEqual(['unacked', 'since']);
    const later = (await inbox.messages.next()).value!;
    expect(later).toMatchObject({ id: 'later' });
    expect(await bob.ack([...again, later].map(({ seq }) => seq!))).toMatchObject({ rejected: [] });
    expect(await bob.peek()).toEqual([]);
  });

  it('give an inbox to its newest holder, and leave out what the one before says of its messages', async () => {
    await using site = await startTwoBrokerProcesses();
    await using ann = await site.connect('ann', [site.one]);
    await using before = await site.connect('bob', [site.other]);
    await using had = await before.subscribe();
    await ann.deliver({ to: 'bob', kind: 'note', id: 'both' });
    const { seq } = (await had.messages.next()).value!;
    // Stopped, the broker can't hear that its agent is elsewhere now, and its incarnation ends.
    process.kill(site.other.pid, 'SIGSTOP');
    await using newest = await site.connect('bob', [site.one]);
    await using has = await newest.subscribe();
    expect((await has.messages.next()).value).toMatchObject({ id: 'both', seq });
    await expect.poll(() => site.living()).toBe(1);
    void before.ack([seq!]).catch(() => {});
    process.kill(site.other.pid, 'SIGCONT');
    expect(await site.other.exited).toMatchObject({ code: 70 });
    expect(site.other.stderr()).toContain('store_in_use');
    expect((await newest.peek()).map(({ id }) => id)).toEqual(['both']);
    expect(await newest.ack([seq!])).toEqual({ accepted: [seq], rejected: [] });
    expect(await newest.peek()).toEqual([]);
  });

  it.each(['directly', 'behind a pooler'])(
    'fail no request %s at a server whose default isolates transactions strictly',
    async (way) => {
      await using admin = await testSchema();
      const role = `strict_${admin.schema}`;
      await admin.sql(
        `CREATE ROLE ${role} SUPERUSER LOGIN; ALTER ROLE ${role} SET default_transaction_isolation = 'serializable'`,
      );
      const url = Object.assign(new URL(serverUrl!), { username: role }).href;
      await using pooler = way === 'directly' ? undefined : await startTransactionPooler(url);
      await using site = await startTwoBrokers({}, { url: pooler?.url ?? url });
      const senders = await Promise.all(
        [site.one, site.other, site.one, site.other].map((broker, n) => connect(broker, `sender${n}`)),
      );
      await site.one.token('bob', 'worker');
      const refused: unknown[] = [];
      const send = async (sender: WireClient) => {
        for (let n = 0; n < 100; n++) {
          sender.send({ type: 'deliver', to: 'bob', id: `m${n}`, kind: 'note' }, '1');
          const answer = await sender.next(['delivered', 'error'], { id: `m${n}` });
          if (answer.type === 'error') refused.push(answer);
        }
      };
      await Promise.all(senders.map(send));
      expect(refused).toEqual([]);
      for (const sender of senders) await sender[Symbol.asyncDispose]();
    },
  );

  it('refuse what the server gave up as retryable, and store it once when it is sent again', async () => {
    await using site = await startTwoBrokers();
    await using ann = await connect(site.one, 'ann');
    await site.one.token('bob', 'worker');
    const send = async (id: string) => {
      ann.send({ type: 'deliver', to: 'bob', id, kind: 'note' }, '1');
      return ann.next(['delivered', 'error'], { id });
    };
    // A conflict, a deadlock, a lock that was not free in time, a statement that took too long.
    for (const state of ['40001', '40P01', '55P03', '57014']) {
      await site.schema.sql(
        `CREATE FUNCTION @give_up() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RAISE EXCEPTION ''given up'' USING ERRCODE = ''${state}''; END';
         CREATE TRIGGER give_up BEFORE INSERT ON @message EXECUTE FUNCTION @give_up()`,
      );
      expect(await send(state)).toMatchObject({ code: 'storage_unavailable', retryable: true });
      await site.schema.sql('DROP FUNCTION @give_up CASCADE');
      expect(await send(state)).toMatchObject({ type: 'delivered' });
    }
    expect(await site.schema.sql('SELECT count(*)::int AS stored FROM @message')).toEqual([{ stored: 4 }]);
  });

  it('keep samples of their own, and both sample what waits in the store', async () => {
    await using site = await startTwoBrokers();
    await using ann = await connect(site.one, 'ann');
    await site.one.token('bob', 'worker');
    await deliver(ann, 'bob', 'm1');
    await using one = await operatorOf(site.one);
    await using other = await operatorOf(site.other);
    const sampled = async (client: BrokerClient) => {
      const { process, series } = await readBrokerSamples(client, {
        last_ms: 600_000,
        points: 1,
        of: [
          { metric: 'signalbox_messages_stored_total', by: ['kind'] },
          { metric: 'signalbox_pending_messages', by: ['role'], where: { role: 'worker' } },
          { metric: 'signalbox_store_bytes' },
        ],
      });
      const [bytes] = series.findLast(({ metric }) => metric.endsWith('store_bytes'))?.values ?? [];
      return [process, ...series.slice(0, -1).map(({ labels, values }) => [labels, values]), bytes! > 0];
    };
    const waits = [{ role: 'worker' }, [1]];
    await expect
      .poll(() => sampled(one), { timeout: 10_000 })
      .toEqual(['one', [{ kind: 'ask' }, [1]], waits, true]);
    await expect.poll(() => sampled(other), { timeout: 10_000 }).toEqual(['other', waits, true]);
  });
});
