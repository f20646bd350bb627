import { join } from 'node:path';
import { connectBroker } from '@signalbox/client';
import { startMcpHost } from '@signalbox/mcp-host';
import { startOrchestrator, wholePolicy } from '@signalbox/orchestrator';
import { openSqliteJournal } from '@signalbox/store/journal';
import { serveParent, setupOf } from '../processes.ts';

/** The orchestrator with its journal, as the command runs it. `journaled` serves the same tool as one that is not safe to repeat. */
const { url, token, server, dataDir } = setupOf<{
  url: string;
  token: string;
  server: string;
  dataDir: string;
}>();
const everything = { type: 'stdio' as const, command: process.execPath, args: [server] };
const host = startMcpHost({ servers: { everything, journaled: everything } });
const journal = await openSqliteJournal({ file: join(dataDir, 'journal.db') });
const client = await connectBroker({ url, token, agent: 'orchestrator', backoff: 'orchestrator' });
const orchestrator = await startOrchestrator({
  client,
  host,
  journal,
  policy: wholePolicy({ repeat: { never: ['mcp_journaled__*'] } }),
  concurrency: { global: 128, perServer: 128, perWorker: 128 },
});
await host.inventory();
serveParent({
  stop: async () => {
    await orchestrator.stop();
    await client.close();
    await host.close();
    await journal[Symbol.asyncDispose]();
  },
});
