import { expect, it, vi } from 'vitest';
import { startBrokerWithClients } from '../support/broker/broker-with-clients.ts';

it('tells an orchestrator which requests in its inbox are settled, and nobody else', async () => {
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
  await expect(rosa.find([{ agent: 'rosa', id: 'open' }])).rejects.toMatchObject({
    code: 'forbidden',
    retryable: false,
  });
});
