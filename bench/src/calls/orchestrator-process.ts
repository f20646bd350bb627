import { connectBroker } from '@signalbox/client';
import { startMcpHost } from '@signalbox/mcp-host';
import { startOrchestrator } from '@signalbox/orchestrator';
import { ready, setupOf } from './processes.ts';

const { url, token, server } = setupOf<{ url: string; token: string; server: string }>();
const host = startMcpHost({
  servers: { everything: { type: 'stdio', command: process.execPath, args: [server] } },
});
const client = await connectBroker({ url, token, agent: 'orchestrator', backoff: 'orchestrator' });
const concurrency = { global: 64, perServer: 64, perWorker: 64 };
const orchestrator = await startOrchestrator({ client, host, concurrency });
await host.inventory();
ready({}, async () => {
  await orchestrator.stop();
  await client.close();
  await host.close();
});
