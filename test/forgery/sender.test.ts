import { connectWire } from '@signalbox/testing';
import { expect, it } from 'vitest';
import { startAuditedBroker } from '../support/broker/audited-broker.ts';

const note = (id: string, fields: Record<string, unknown> = {}) => ({
  type: 'deliver',
  to: 'bob',
  id,
  kind: 'note',
  ...fields,
});

const cyrillicA = '\u0430';

it('a claim to be another closes the connection and stores nothing; the same claim told truly is taken', async () => {
  await using audited = await startAuditedBroker();
  const bob = await audited.connect('bob');
  const honest = await audited.connect('mallory', { subscribe: false });
  const claims = [
    [{ from: 'alice' }, { from: 'mallory' }],
    [{ from: 'alice#mcp-1' }, {}],
    [{ from: 'mallory#not-here' }, {}],
    [{ from: 'MALLORY' }, {}],
    [{ from: `m${cyrillicA}llory` }, {}],
    [{ from: { address: 'alice' } }, { from: { address: 'mallory' } }],
    [{ from: { agent: 'alice' } }, { from: { agent: 'mallory' } }],
    [{ from: { agent: 'mallory', role: 'operator' } }, { from: { agent: 'mallory', role: 'worker' } }],
    [{ role: 'orchestrator' }, { role: 'worker' }],
    [{ role: '' }, {}],
  ];
  for (const [i, [lie, truth]] of claims.entries()) {
    const forger = await audited.connect('mallory', { subscribe: false });
    await audited.expectRefused(forger, note(`lie-${i}`, lie), { code: 'forged_sender' }, '{}');
    expect((await forger.closed).code).toBe(4403);
    honest.send(note(`truth-${i}`, truth), '{}');
    await honest.next('delivered', { id: `truth-${i}` });
    const { from } = await bob.next('message', { id: `truth-${i}` });
    expect(from).toEqual({ agent: 'mallory', address: 'mallory', role: 'worker' });
  }
  expect(bob.received.filter(({ type }) => type === 'message')).toHaveLength(claims.length);
  await audited.expectAudit();
});

it('a forged claim takes what follows it in the same message down with it', async () => {
  await using audited = await startAuditedBroker();
  await audited.token('bob');
  const forger = await audited.connect('mallory', { subscribe: false });
  await audited.expectUnchanged(async () => {
    forger.raw(`${JSON.stringify(note('1', { from: 'alice' }))}\n${JSON.stringify(note('2'))}\n`.repeat(50));
    expect((await forger.closed).code).toBe(4403);
  });
  expect(forger.received.filter(({ type }) => type === 'delivered')).toEqual([]);
  await audited.expectAudit({ 'mallory forged_sender': 1 });
});

it('a hello as another, in a sub-inbox of another or with another role is turned away; an own sub-inbox is one’s own', async () => {
  await using audited = await startAuditedBroker();
  await audited.token('alice');
  const token = await audited.token('mallory');
  const claims = [
    { agent: 'alice' },
    { agent: 'alice#mcp-1' },
    { agent: 'operator' },
    { agent: 'orchestrator' },
    { agent: 'mallory2' },
    { agent: 'mal.lory' },
    { agent: 'mallory', role: 'operator' },
  ];
  for (const claim of claims) {
    await audited.expectUnchanged(async () => {
      await using forger = await connectWire(audited.url);
      forger.send({ type: 'hello', token, protocol: 1, ...claim });
      expect(await forger.next('error')).toMatchObject({ code: 'forged_sender' });
      expect((await forger.closed).code).toBe(4403);
    });
  }
  const own = await audited.connect('mallory#mcp-1');
  expect(own.received[0]).toMatchObject({ type: 'welcome', address: 'mallory#mcp-1', role: 'worker' });
  await audited.expectAudit({ 'mallory forged_sender': claims.length });
});

it('a name that only looks like another is no name: not to send to, not to be, not to have a token for', async () => {
  await using audited = await startAuditedBroker();
  const token = await audited.token('mallory');
  const mallory = await audited.connect('mallory', { subscribe: false });
  const lookAlikes = [
    'Alice',
    `${cyrillicA}lice`,
    '\uff41lice',
    'alice ',
    ' alice',
    'alice\u200b',
    'alice\n',
    'alice#',
    '#alice',
    'alice#a#b',
  ];
  for (const name of lookAlikes) {
    await audited.expectRefused(mallory, note('m', { to: name }), { code: 'bad_frame', field: 'to' });
    await audited.expectUnchanged(async () => {
      await using stranger = await connectWire(audited.url);
      stranger.send({ type: 'hello', agent: name, token, protocol: 1 });
      expect(await stranger.next('error')).toMatchObject({ code: 'bad_hello', field: 'agent' });
    });
    expect(await audited.admin('token_issue', { agent: name, role: 'worker' })).toMatchObject({
      code: 'bad_frame',
    });
  }
  const alice = await audited.connect('alice');
  mallory.send(note('m', { to: 'alice' }), '{}');
  await mallory.next('delivered', { id: 'm' });
  expect(await alice.next('message')).toMatchObject({ to: 'alice' });
  const times = lookAlikes.length;
  await audited.expectAudit({ ' bad_hello': times, 'operator bad_frame': times });
});

it('ids that differ by case, prefix or a dot are different messages, and those that only look the same are none', async () => {
  await using audited = await startAuditedBroker();
  const bob = await audited.connect('bob');
  const mallory = await audited.connect('mallory', { subscribe: false });
  const ids = ['x', 'X', 're:x', 're:X', 'x.', '__proto__', '%78'];
  for (const id of ids) {
    mallory.send(note(id), '{}');
    expect(await mallory.next('delivered', { id })).not.toHaveProperty('duplicate');
  }
  for (const id of ids) await bob.next('message', { id });
  for (const id of ['\u0445', 'x\u0301', 'x y', 'x\u0000', '']) {
    await audited.expectRefused(mallory, note(id), { code: 'bad_frame', field: 'id' });
  }
  await audited.expectAudit();
});
