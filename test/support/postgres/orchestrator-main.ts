import { connectBroker } from '@signalbox/client';
import { startMcpHost } from '@signalbox/mcp-host';
import { startOrchestrator, wholePolicy } from '@signalbox/orchestrator';
import { openPostgresJournal } from '@signalbox/postgres/journal';
import { counterServer, processFaults } from '@signalbox/testing';

// The process of an orchestrator with a journal on PostgreSQL. Its argument is JSON: addresses of brokers, its token, the file of the
// counter server, and the options of its journal. Its first message tells whether it waits, and the later ones are the events of its log.
const { url, token, counterFile, leaseMs, database } = JSON.parse(process.argv[2]!);
const journal = await openPostgresJournal({ ...database, leaseMs });
const host = startMcpHost({ servers: { counter: counterServer(counterFile) } });
await host.inventory();
const client = await connectBroker({
  url,
  token,
  agent: 'orchestrator',
  waitForBroker: true,
});
void journal.failed.then(() => process.exit(70));
let isStarted = false;
let waits = false;
const approvals = { roles: { worker: ['mcp_counter__slow'] }, deadlineMs: 60_000, notify: [] };
await startOrchestrator({
  client,
  host,
  journal,
  policy: wholePolicy({ approvals }),
  fault: processFaults(),
  log: ({ event }) => {
    waits ||= event === 'waits_for_other_orchestrator';
    if (isStarted) process.send?.({ event });
  },
});
process.on('disconnect', () => process.exit(0));
isStarted = true;
process.send?.({ waits });
