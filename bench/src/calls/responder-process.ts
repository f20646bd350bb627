import { connectBroker } from '@signalbox/client';
import { ready, setupOf } from './processes.ts';

const { url, token } = setupOf<{ url: string; token: string }>();
const client = await connectBroker({ url, token, agent: 'server' });
await client.serve(['ask'], async ({ json }) => ({ kind: 'reply', body: json }), {
  concurrency: 1000,
  window: 1000,
});
ready({}, () => client.close());
