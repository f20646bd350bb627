import { connectBroker } from '@signalbox/client';
import { startMcpHost } from '@signalbox/mcp-host';
import { startOrchestrator, wholePolicy } from '@signalbox/orchestrator';
import { openSqliteJournal } from '@signalbox/store/journal';
import { counterServer } from '@signalbox/testing';

/** Runs an orchestrator in a process of its own, whose journal forgets settled calls at once. */
const [url, token, counterFile, journalFile] = process.argv.slice(2) as [string, string, string, string];
process.on('disconnect', () => process.exit(0));

const journal = await openSqliteJournal({
  file: journalFile,
  pruneEveryMs: 10,
  limits: { ageMs: 0 },
});
const host = startMcpHost({ servers: { counter: counterServer(counterFile) } });
await host.inventory();
const client = await connectBroker({ url, token, agent: 'orchestrator' });
await startOrchestrator({ client, host, policy: wholePolicy(), journal, askSettledEveryMs: 10 });
process.send?.({ pid: process.pid });
