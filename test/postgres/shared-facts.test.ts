import { issueToken, readStats } from '@signalbox/client/operator';
import { connectWire } from '@signalbox/testing';
import { describe, expect, it } from 'vitest';
import { serverUrl } from '../support/postgres/test-store.ts';
import { startTwoBrokerProcesses } from '../support/postgres/two-brokers.ts';

describe.skipIf(serverUrl === undefined)('Brokers on one schema', () => {
  it('answer a hold when the orchestrators of all of them act by it, and say so if one does not in time', async () => {
    await using site = await startTwoBrokerProcesses();
    const { operator } = site;
    const { token } = await issueToken(operator, { agent: 'orchestrator', role: 'orchestrator' });
    await using orchestrator = await connectWire(site.other.ready.url, { agent: 'orchestrator', token });
    orchestrator.send({ type: 'follow_holds' });
    const { version } = await orchestrator.next('holds');
    orchestrator.send({ type: 'holds_known', version });
    let isPlaced = false;
    const placing = operator.admin('hold', { on: 'agent', name: 'ann', reason: 'a test' }).finally(() => {
      isPlaced = true;
    });
    const told = await orchestrator.next('holds');
    expect(told.holds).toMatchObject([{ name: 'ann' }]);
    expect(isPlaced).toBe(false);
    orchestrator.send({ type: 'holds_known', version: told.version });
    expect(await placing).toEqual({ hold: expect.objectContaining({ name: 'ann' }) });
    expect(await operator.admin('hold', { on: 'role', name: 'worker', reason: 'a test' })).toMatchObject({
      unconfirmed: true,
    });
  });

  it('know agents that connected to another one, also when their tokens are gone', async () => {
    await using site = await startTwoBrokerProcesses();
    const { operator } = site;
    await using ann = await site.connect('ann', [site.one]);
    const { id, token } = await issueToken(operator, { agent: 'eve', role: 'worker' });
    const eve = await site.connect('eve', [site.other], { token });
    await operator.admin('token_revoke', { id });
    await eve.closed;
    await expect
      .poll(() => ann.deliver({ to: 'eve', kind: 'note' }).catch(({ code }: { code: string }) => code))
      .toMatchObject({ duplicate: false });
    await expect(ann.deliver({ to: 'nobody', kind: 'note' })).rejects.toMatchObject({
      code: 'unknown_recipient',
    });
  });

  it('end the connections that have the name of an agent which another one made an orchestrator', async () => {
    await using site = await startTwoBrokerProcesses();
    const early = await issueToken(site.operator, { agent: 'hub', role: 'worker' });
    await using worker = await connectWire(site.other.ready.url, { agent: 'hub#part', token: early.token });
    await issueToken(site.operator, { agent: 'hub', role: 'orchestrator' });
    expect((await worker.closed).code).toBe(4401);
    expect(worker.received.at(-1)).toMatchObject({
      type: 'error',
      message: expect.stringContaining("'hub' is an orchestrator, and the role of this token is 'worker'"),
    });
  });

  it('tell which of them live', async () => {
    await using site = await startTwoBrokerProcesses();
    const brokers = async () => {
      const { broker, brokers } = await readStats(site.operator);
      return { broker, brokers: brokers?.map(({ name }) => name) };
    };
    expect(await brokers()).toEqual({ broker: 'one', brokers: ['one', 'other'] });
    await site.other.end('SIGKILL');
    await expect.poll(brokers).toEqual({ broker: 'one', brokers: ['one'] });
  });
});
