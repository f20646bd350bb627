import { type BrokerClient, connectBroker, requestAddress } from '@signalbox/client';
import type { WireClient } from '@signalbox/testing';
import { expect, it } from 'vitest';
import { type AuditedBroker, startAuditedBroker } from '../support/broker/audited-broker.ts';

const timeoutMs = 10_000;

async function asker(audited: AuditedBroker): Promise<{ client: BrokerClient; events: string[] }> {
  const events: string[] = [];
  const client = await connectBroker({
    url: audited.url,
    token: await audited.token('asker'),
    agent: requestAddress('asker'),
    log: ({ event }) => events.push(event),
  });
  return { client, events };
}

/** Resolves when everything that waits in the client's inbox was dealt with. */
async function emptied(client: BrokerClient): Promise<void> {
  await expect.poll(() => client.peek()).toEqual([]);
}

function forge(to: string, id: string, kind: string): Record<string, unknown> {
  return { type: 'deliver', to, id: `forged-${kind}`, kind, correlation_id: id };
}

it.each([
  ['ask', 'reply'],
  ['mcp_request', 'mcp_reply'],
])(
  'a waiter of an %s takes the %s of whom it asked, and neither loses nor believes another one',
  async (kind, answer) => {
    await using audited = await startAuditedBroker();
    const { client, events } = await asker(audited);
    const server = await audited.connect('orchestrator', { role: 'orchestrator' });
    const rival = await audited.connect('rival', { role: 'orchestrator' });
    const mallory = await audited.connect('mallory');
    const progress: unknown[] = [];
    const outcome = client.request('orchestrator', kind, 'hello', {
      timeoutMs,
      onProgress: (body) => progress.push(body),
    });
    const request = await server.next('message');
    const id = String(request.id);
    const to = client.address;
    const lie = '{"data":"lie","reason":"expired","may_have_run":false}';
    for (const forged of [answer, 'progress', 'undeliverable', 'event']) {
      await audited.expectRefused(mallory, forge(to, id, forged), { code: 'forbidden' }, lie);
    }
    // An orchestrator replies to what it was sent, like everybody else.
    await audited.expectRefused(rival, forge(to, id, answer), { code: 'forbidden' }, lie);
    await audited.expectRefused(
      server,
      { ...forge(to, 'another', answer), id: 'x' },
      { code: 'forbidden' },
      lie,
    );
    // The broker lets every orchestrator speak otherwise; the waiter must not believe the wrong one.
    await speak(rival, forge(to, id, 'undeliverable'), lie);
    await speak(rival, { ...forge(to, id, 'progress'), id: 'p' }, lie);
    rival.send({ ...forge(to, id, 'progress'), ephemeral: true }, lie);
    // The right sender, the wrong kind.
    await speak(server, { ...forge(to, id, 'note'), id: 'y' }, lie);
    await emptied(client);
    server.send({ ...forge(to, id, 'progress'), ephemeral: true }, '"half"');
    await speak(
      server,
      { ...forge(to, id, answer), id: `re:${id}`, settles: request.seq },
      '{"data":"truth"}',
    );
    expect(await outcome).toMatchObject({ status: 'completed', reply: { json: { data: 'truth' } } });
    expect(progress).toEqual(['half']);
    expect(events.filter((event) => event === 'reply_mismatch').length).toBeGreaterThanOrEqual(3);
    await emptied(client);
    await client.close();
    await audited.expectAudit();
  },
);

it('a reply id that somebody stored first does not keep the real reply from its waiter', async () => {
  await using audited = await startAuditedBroker();
  const { client } = await asker(audited);
  const server = await audited.connect('server');
  const mallory = await audited.connect('mallory');
  const outcome = client.request('server', 'ask', null, { timeoutMs });
  const request = await server.next('message');
  const blocked = { type: 'deliver', to: client.address, id: `re:${request.id}`, kind: 'note' };
  await speak(mallory, { ...blocked, correlation_id: request.id }, '"blocked"');
  const real = { ...blocked, kind: 'reply', correlation_id: request.id, settles: request.seq };
  await speak(server, real, '"real"');
  expect(await outcome).toMatchObject({ status: 'completed', reply: { json: 'real' } });
  await client.close();
  await audited.expectAudit();
});

it('a request of the same id as another’s is answered to whom it belongs', async () => {
  await using audited = await startAuditedBroker();
  const server = await audited.connect('server');
  const clients: BrokerClient[] = [];
  const outcomes: Promise<unknown>[] = [];
  for (const agent of ['asker', 'mallory']) {
    const token = await audited.token(agent);
    const client = await connectBroker({
      url: audited.url,
      token,
      agent: requestAddress(agent),
      newId: () => 'same-id',
    });
    clients.push(client);
    outcomes.push(client.request('server', 'ask', agent, { timeoutMs }));
    const { from, seq, body } = await server.next('message', { id: 'same-id' });
    const { address } = from as { address: string };
    const reply = {
      type: 'deliver',
      to: address,
      id: 're:same-id',
      kind: 'reply',
      correlation_id: 'same-id',
    };
    await speak(server, { ...reply, settles: seq }, body as string);
  }
  const [first, second] = await Promise.all(outcomes);
  expect(first).toMatchObject({ status: 'completed', reply: { json: 'asker' } });
  expect(second).toMatchObject({ status: 'completed', reply: { json: 'mallory' } });
  await Promise.all(clients.map((client) => client.close()));
});

/** Delivers what the broker lets through. */
async function speak(client: WireClient, frame: Record<string, unknown>, body: string): Promise<void> {
  client.send(frame, body);
  await client.next('delivered', { id: frame.id });
}
