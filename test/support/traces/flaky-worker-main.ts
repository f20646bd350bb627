// A program with a client of its own, which fails at the first attempt of every task. It gets its address, agent and token as arguments.
import { connectBroker } from '@signalbox/client';
import { openTracing } from '@signalbox/serving/tracing';

const [url = '', agent = '', token = ''] = process.argv.slice(2);
const tracing = await openTracing({ name: 'flaky-worker' });
const client = await connectBroker({ url, agent, token, tracing, random: () => 0 });
await client.serve(['task'], async ({ message }) => {
  if (message.attempt === undefined) throw new Error('not yet');
  return { kind: 'reply', body: 'done' };
});
process.stdout.write('ready\n');
process.once('SIGTERM', () => client.close());
