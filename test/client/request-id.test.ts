import { requestAddress } from '@signalbox/client';
import { expect, it } from 'vitest';
import { startBrokerWithClients } from '../support/broker/broker-with-clients.ts';

it('a request goes out under the id it is given, and a second one under the same id is refused while it is under way', async () => {
  await using broker = await startBrokerWithClients();
  const { client: server } = await broker.connect('server');
  const { client } = await broker.connect(requestAddress('asker'));
  const goOn = Promise.withResolvers<void>();
  await server.serve(['ask'], async ({ message }) => {
    await goOn.promise;
    return { kind: 'reply', body: message.id };
  });
  const options = { id: 'my-own-id', timeoutMs: 10_000 };
  const first = client.request('server', 'ask', null, options);
  const second = await client.request('server', 'ask', null, options);
  expect(second).toMatchObject({ status: 'not_sent', error: { code: 'invalid_message' }, mayHaveRun: false });
  goOn.resolve();
  expect(await first).toMatchObject({ status: 'completed', reply: { json: 'my-own-id' } });
});
