import type { WireClient } from '@signalbox/testing';
import { describe, expect, it } from 'vitest';
import { type AuditedBroker, startAuditedBroker } from '../support/broker/audited-broker.ts';

/** alice asks bob; the request is in bob's hands. mallory is asked by nobody. */
async function asked(
  audited: AuditedBroker,
): Promise<{ alice: WireClient; bob: WireClient; mallory: WireClient; seq: number }> {
  const alice = await audited.connect('alice');
  const bob = await audited.connect('bob');
  const mallory = await audited.connect('mallory');
  alice.send({ type: 'deliver', to: 'bob', id: 'q', kind: 'ask' }, '"?"');
  await alice.next('delivered');
  const { seq } = await bob.next('message', { id: 'q' });
  return { alice, bob, mallory, seq: seq as number };
}

const reply = (fields: Record<string, unknown> = {}) => ({
  type: 'deliver',
  to: 'alice',
  id: 're:q',
  kind: 'reply',
  correlation_id: 'q',
  ...fields,
});

describe("another's request", () => {
  it('is answered only by the agent that it was sent to, under any id and kind of the answer', async () => {
    await using audited = await startAuditedBroker();
    const { alice, bob, mallory } = await asked(audited);
    const notSent = { code: 'forbidden', field: 'correlation_id' };
    await audited.expectRefused(mallory, reply(), notSent, '"lie"');
    await audited.expectRefused(mallory, reply({ id: 'other', correlation_id: 'Q' }), notSent, '"lie"');
    await audited.expectRefused(mallory, reply({ correlation_id: undefined }), notSent, '"lie"');
    await audited.expectRefused(mallory, reply({ kind: 'progress' }), notSent, '"lie"');
    await audited.expectRefused(mallory, reply({ kind: 'progress', ephemeral: true }), notSent, '"lie"');
    for (const kind of ['mcp_reply', 'undeliverable', 'event']) {
      await audited.expectRefused(mallory, reply({ kind }), { code: 'forbidden' }, '{"reason":"expired"}');
      await audited.expectRefused(mallory, reply({ kind, ephemeral: true }), { code: 'forbidden' }, '{}');
    }
    bob.send(reply({ kind: 'progress', id: 'p', ephemeral: true }), '"half"');
    expect(await alice.next('message')).toMatchObject({ kind: 'progress', body: '"half"' });
    bob.send(reply(), '"truth"');
    await bob.next('delivered', { id: 're:q' });
    expect(await alice.next('message', { id: 're:q' })).toMatchObject({
      body: '"truth"',
      from: { agent: 'bob' },
    });
    expect(alice.received.filter(({ type }) => type === 'message')).toHaveLength(2);
    await audited.expectAudit();
  });

  it('is not acked, given back, worked on, killed or settled by anybody but its holder', async () => {
    await using audited = await startAuditedBroker();
    const { bob, mallory, seq } = await asked(audited);
    // A request of her own, so that she holds a lease and has something in flight.
    bob.send({ type: 'deliver', to: 'mallory', id: 'own', kind: 'ask' }, '"?"');
    const own = await mallory.next('message');
    await bob.next('delivered', { id: 'own' });
    for (const frame of [
      { type: 'ack' },
      { type: 'nack' },
      { type: 'nack', dead: true, reason: 'mine' },
      { type: 'nack', delay_ms: 86_400_000 },
    ]) {
      await audited.expectUnchanged(async () => {
        mallory.send({ ...frame, seqs: [seq], request_id: 'r' });
        expect(await mallory.next('ack_result')).toMatchObject({ accepted: [], rejected: [seq] });
      });
    }
    await audited.expectUnchanged(async () => {
      mallory.send({ type: 'working', seqs: [seq] });
      mallory.send({ type: 'peek', request_id: 'barrier' });
      await mallory.next('peeked');
    });
    // She may answer her own request, but takes nobody else's along with it.
    mallory.send(reply({ to: 'bob', id: 're:own', correlation_id: 'own', settles: seq }), '"!"');
    await mallory.next('delivered', { id: 're:own' });
    mallory.send({ type: 'ack', seqs: [own.seq], request_id: 'a' });
    expect(await mallory.next('ack_result')).toMatchObject({ accepted: [own.seq] });
    bob.send({ type: 'ack', seqs: [seq], request_id: 'a' });
    expect(await bob.next('ack_result')).toMatchObject({ accepted: [seq], rejected: [] });
    await audited.expectAudit();
  });

  it('is cancelled by nobody but its sender, before it arrives and after', async () => {
    await using audited = await startAuditedBroker();
    const { alice, bob, mallory, seq } = await asked(audited);
    await audited.expectUnchanged(async () => {
      for (const id of ['q', 'later']) mallory.send({ type: 'cancel', to: 'bob', correlation_id: id });
      mallory.send({ type: 'peek', request_id: 'barrier' });
      await mallory.next('peeked');
    });
    alice.send({ type: 'deliver', to: 'bob', id: 'later', kind: 'ask' }, '"?"');
    expect(await bob.next('message', { id: 'later' })).toMatchObject({ from: { agent: 'alice' } });
    expect(bob.received.filter(({ type }) => type === 'cancel')).toEqual([]);
    alice.send({ type: 'cancel', to: 'bob', correlation_id: 'q' });
    expect(await bob.next('cancel')).toMatchObject({ correlation_id: 'q', from: { agent: 'alice' } });
    bob.send({ type: 'ack', seqs: [seq], request_id: 'a' });
    expect(await bob.next('ack_result')).toMatchObject({ accepted: [seq] });
    await audited.expectAudit();
  });
});

describe("another's reply id", () => {
  it('stored ahead of time under an own name swallows nothing', async () => {
    await using audited = await startAuditedBroker();
    const alice = await audited.connect('alice');
    const bob = await audited.connect('bob');
    const mallory = await audited.connect('mallory');
    mallory.send({ type: 'deliver', to: 'alice', id: 're:q', kind: 'note' }, '"blocked"');
    await mallory.next('delivered', { id: 're:q' });
    alice.send({ type: 'deliver', to: 'bob', id: 'q', kind: 'ask' }, '"?"');
    const { seq } = await bob.next('message');
    bob.send(reply({ settles: seq }), '"truth"');
    expect(await bob.next('delivered', { id: 're:q' })).not.toHaveProperty('duplicate');
    expect(await alice.next('message', { kind: 'note' })).toMatchObject({ from: { agent: 'mallory' } });
    expect(await alice.next('message', { kind: 'reply' })).toMatchObject({
      id: 're:q',
      from: { agent: 'bob' },
      body: '"truth"',
    });
    await audited.expectAudit();
  });

  it('and message ids of another sender are no duplicates of one’s own, before and after they were settled', async () => {
    await using audited = await startAuditedBroker();
    const alice = await audited.connect('alice');
    const mallory = await audited.connect('mallory', { subscribe: false });
    const bob = await audited.connect('bob');
    for (const client of [mallory, alice]) {
      client.send({ type: 'deliver', to: 'bob', id: 'same', kind: 'note' }, '"1"');
      expect(await client.next('delivered')).not.toHaveProperty('duplicate');
      const { seq } = await bob.next('message', { id: 'same' });
      bob.send({ type: 'ack', seqs: [seq], request_id: `a${seq}` });
      await bob.next('ack_result', { request_id: `a${seq}` });
    }
    alice.send({ type: 'deliver', to: 'bob', id: 'same', kind: 'note' }, '"1"');
    expect(await alice.next('delivered')).toMatchObject({ duplicate: true });
    await audited.expectAudit();
  });
});

describe("another's inbox", () => {
  it('is read, subscribed to and emptied by nobody else, nor is a sub-inbox; its owner reads all of its own', async () => {
    await using audited = await startAuditedBroker();
    const { alice, bob, mallory } = await asked(audited);
    alice.send({ type: 'deliver', to: 'bob#mcp-1', id: 's', kind: 'note' }, '"secret"');
    await alice.next('delivered', { id: 's' });
    for (const address of ['bob', 'bob#mcp-1', 'bob#mcp-2', 'operator']) {
      await audited.expectRefused(
        mallory,
        { type: 'peek', request_id: 'p', address },
        { code: 'not_yours', request_id: 'p' },
      );
    }
    bob.send({ type: 'peek', request_id: 'p', address: 'bob#mcp-1' });
    expect((await bob.next('peeked')).messages).toMatchObject([{ id: 's', body: '"secret"' }]);
    // The address of a subscription is that of a group; the inbox is the connection's own, even if the frame claims another.
    for (const shared of [{ shared: true, ack_deadline_ms: 60_000 }, {}]) {
      await audited.expectRefused(
        mallory,
        { type: 'subscribe', request_id: 's', address: 'bob', ...shared },
        { code: 'bad_frame', field: 'address', request_id: 's' },
      );
    }
    await audited.expectUnchanged(async () => {
      mallory.send({ type: 'subscribe', request_id: 'mine', to: 'bob', agent: 'bob' });
      expect(await mallory.next('subscribed', { request_id: 'mine' })).toMatchObject({ pending: 0 });
    });
    alice.send({ type: 'deliver', to: 'bob', id: 'next', kind: 'note' }, '{}');
    expect(await bob.next('message', { id: 'next' })).toMatchObject({ id: 'next' });
    expect(mallory.received.filter(({ type }) => type === 'message')).toEqual([]);
    await audited.expectAudit();
  });

  it('goes to the newest lease, and nothing the replaced one sends settles anything', async () => {
    await using audited = await startAuditedBroker();
    const { alice, bob: old, seq } = await asked(audited);
    const fresh = await audited.connect('bob');
    expect(await old.next('lease_lost')).toMatchObject({ reason: 'taken_over' });
    await fresh.next('message', { id: 'q' });
    for (const type of ['ack', 'nack']) {
      await audited.expectUnchanged(async () => {
        old.send({ type, seqs: [seq], request_id: type });
        expect(await old.next('ack_result', { request_id: type })).toMatchObject({ rejected: [seq] });
      });
    }
    await audited.expectRefused(
      old,
      reply({ settles: seq }),
      { code: 'no_lease', field: 'settles' },
      '"late"',
    );
    await old[Symbol.asyncDispose]();
    alice.send({ type: 'deliver', to: 'bob', id: 'after', kind: 'note' }, '{}');
    expect(await fresh.next('message', { id: 'after' })).toMatchObject({ id: 'after' });
    fresh.send(reply({ settles: seq }), '"now"');
    await fresh.next('delivered', { id: 're:q' });
    expect(await alice.next('message')).toMatchObject({ id: 're:q', body: '"now"' });
    await audited.expectAudit();
  });
});

describe('what only an orchestrator tells', () => {
  it('a change of the tools (an event) comes from no worker, and from an orchestrator it arrives', async () => {
    await using audited = await startAuditedBroker();
    const victim = await audited.connect('victim');
    const mallory = await audited.connect('mallory', { subscribe: false });
    const event = { type: 'deliver', to: 'victim', id: 'e', kind: 'event' };
    const body = '{"event":"manifest_changed","version":"x"}';
    await audited.expectRefused(mallory, event, { code: 'forbidden', id: 'e' }, body);
    await audited.expectRefused(mallory, { ...event, ephemeral: true }, { code: 'forbidden', id: 'e' }, body);
    const orchestrator = await audited.connect('orchestrator', { role: 'orchestrator', subscribe: false });
    orchestrator.send({ ...event, ephemeral: true }, body);
    expect(await victim.next('message')).toMatchObject({
      kind: 'event',
      from: { agent: 'orchestrator' },
      body,
    });
    expect(victim.received.filter(({ type }) => type === 'message')).toHaveLength(1);
    await audited.expectAudit();
  });

  it('a tool is called through an orchestrator only', async () => {
    await using audited = await startAuditedBroker();
    const orchestrator = await audited.connect('orchestrator', { role: 'orchestrator' });
    await audited.token('fake-orchestrator');
    const worker = await audited.connect('worker');
    const call = { type: 'deliver', id: 'c', kind: 'mcp_request' };
    await audited.expectRefused(worker, { ...call, to: 'fake-orchestrator' }, { code: 'forbidden' }, '{}');
    worker.send({ ...call, to: 'orchestrator' }, '{}');
    expect(await orchestrator.next('message')).toMatchObject({ from: { agent: 'worker', role: 'worker' } });
    await audited.expectAudit();
  });
});
