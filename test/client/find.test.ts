import { expect, it, vi } from 'vitest';
import { startBrokerWithClients } from '../support/broker/broker-with-clients.ts';

it('tells which requests in the own inbox are settled', async () => {
  await using brokerAndClients = await startBrokerWithClients();
  const { client: orchestrator } = await brokerAndClients.connect('orchestrator', { role: 'orchestrator' });
  const { client: rosa } = await brokerAndClients.connect('rosa');
  for (const id of ['settled', 'open'])
    await rosa.deliver({ to: 'orchestrator', kind: 'mcp_request', body: {}, id });
  await rosa.deliver({ to: 'rosa', kind: 'note', body: {}, id: 'elsewhere' });
  const messages = await orchestrator.peek();
  await using _held = await orchestrator.subscribe();
  await vi.waitFor(async () => {
    const { accepted } = await orchestrator.ack([messages[0]!.seq!]);
    expect(accepted).toHaveLength(1);
  });
  const ask = (ids: string[]) => orchestrator.find(ids.map((id) => ({ agent: 'rosa', id })));
  expect(await ask(['settled', 'open', 'never', 'elsewhere'])).toEqual([
    'settled',
    'open',
    'unknown',
    'unknown',
  ]);
  const many = Array.from({ length: 200 }, (_, i) => (i === 150 ? 'open' : `never-${i}`));
  expect((await ask(many)).indexOf('open')).toBe(150);
  expect(await orchestrator.find([{ agent: 'walt', id: 'open' }])).toEqual(['unknown']);
  expect(await orchestrator.find([{ id: 'settled' }])).toEqual(['settled']);
  const withSender = [{ agent: 'rosa', id: 'open', with_sender: true as const }];
  expect(await orchestrator.find(withSender)).toEqual(['orphaned']);
  await using _replies = await rosa.subscribe();
  expect(await orchestrator.find(withSender)).toEqual(['open']);
  await expect(rosa.find(withSender)).rejects.toMatchObject({ code: 'forbidden' });
  // The requests are in another inbox than rosa's.
  expect(await rosa.find([{ agent: 'rosa', id: 'open' }])).toEqual(['unknown']);
  await expect(rosa.find([{ id: 'open' }, { id: 'settled' }])).rejects.toMatchObject({ code: 'forbidden' });
});

it('tells an agent which of its replies are stored, with and without the sender of the request', async () => {
  await using brokerAndClients = await startBrokerWithClients();
  const { client: rosa } = await brokerAndClients.connect('rosa');
  const { client: walt } = await brokerAndClients.connect('walt');
  for (const id of ['answered', 'acked', 'open'])
    await walt.deliver({ to: 'rosa', kind: 'ask', body: {}, id });
  await using _held = await rosa.subscribe();
  const seqs = await vi.waitFor(async () => {
    const messages = await rosa.peek();
    const [answered, acked] = messages.map(({ seq }) => seq!);
    expect((await rosa.ack([acked!])).accepted).toHaveLength(1);
    return { answered: answered! };
  });
  const reply = { to: 'walt', kind: 'reply', id: 're:answered', correlationId: 'answered', body: {} };
  await rosa.deliver({ ...reply, settles: seqs.answered });
  const ask = async (agent?: string) => {
    const one = (id: string) => rosa.find([{ id, reply: `re:${id}`, ...(agent && { agent }) }]);
    return (await Promise.all(['answered', 'acked', 'open', 'never'].map(one))).flat();
  };
  for (const agent of ['walt', undefined])
    expect(await ask(agent)).toEqual(['answered', 'settled', 'open', 'unknown']);
  expect(await ask('eva')).toEqual(Array(4).fill('unknown'));
  expect(await rosa.find([{ id: 'answered' }])).toEqual(['settled']);
  expect(await rosa.find([{ id: 'answered', reply: 'another' }])).toEqual(['settled']);

  // Another agent sends a request with the same id.
  const { client: eva } = await brokerAndClients.connect('eva');
  await eva.deliver({ to: 'rosa', kind: 'ask', body: {}, id: 'answered' });
  expect(await ask()).toEqual(['answered', 'settled', 'open', 'unknown']);
  expect(await ask('eva')).toEqual(['open', 'unknown', 'unknown', 'unknown']);
  expect(await rosa.find([{ id: 'answered', reply: 'another' }])).toEqual(['ambiguous']);
});
