import { connectBroker } from '@signalbox/client';
import { startMcpHost } from '@signalbox/mcp-host';
import { startOrchestrator, wholePolicy } from '@signalbox/orchestrator';
import { openSqliteJournal } from '@signalbox/store/journal';
import { counterServer } from '@signalbox/testing';

/**
 * Runs an orchestrator that a test kills, with the counter server, whose `gate` is safe to repeat. argv: the url, its token and a
 * directory.
 */
const [url, token, directory] = process.argv.slice(2) as [string, string, string];
process.on('disconnect', () => process.exit(0));
const journal = await openSqliteJournal({ file: `${directory}/journal.db` });
const host = startMcpHost({ servers: { counter: counterServer(`${directory}/counter.jsonl`) } });
await host.inventory();
const client = await connectBroker({
  url,
  token,
  agent: 'orchestrator',
  waitForBroker: true,
});
await startOrchestrator({
  ...{ client, host, journal },
  policy: wholePolicy({ repeat: { safe: ['mcp_counter__gate'] } }),
});
process.send!('ready');
