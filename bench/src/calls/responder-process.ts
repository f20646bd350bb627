import { connectBroker } from '@signalbox/client';
import { serveParent, setupOf } from '../processes.ts';

/** Answers at once: what is left of a call's way is the broker. */
const { url, token } = setupOf<{ url: string; token: string }>();
const client = await connectBroker({ url, token, agent: 'server' });
await client.serve(['ask'], async ({ json }) => ({ kind: 'reply', body: json }), {
  concurrency: 1000,
  window: 1000,
});
serveParent({ stop: () => client.close() });
