import { connectBroker } from '@signalbox/client';
import { startMcpHost } from '@signalbox/mcp-host';
import { startOrchestrator, wholePolicy } from '@signalbox/orchestrator';
import { openSqliteJournal } from '@signalbox/store/journal';

/** Runs an orchestrator without servers that answers permission questions. argv: the url, its token and the file of its journal. */
const [url, token, file] = process.argv.slice(2) as [string, string, string];
process.on('disconnect', () => process.exit(0));
const client = await connectBroker({
  ...{ url, token, agent: 'orchestrator' },
  waitForBroker: true,
});
const journal = await openSqliteJournal({ file });
await startOrchestrator({
  client,
  host: startMcpHost({ servers: {} }),
  journal,
  policy: wholePolicy({ approvals: { roles: {}, deadlineMs: 3_600_000, notify: [] } }),
});
process.send!('ready');
