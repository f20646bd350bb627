import { connectBroker } from '@signalbox/client';
import { startMcpHost } from '@signalbox/mcp-host';
import { ResultStore, startOrchestrator, wholePolicy } from '@signalbox/orchestrator';
import { openPostgresJournal } from '@signalbox/postgres/journal';
import { type Fault, faultAt, noFault } from '@signalbox/serving';
import { openSqliteJournal } from '@signalbox/store/journal';
import { counterServer, processFaults } from '@signalbox/testing';
import { withoutLanes } from '../support/without-lanes.ts';
import { lossesOf } from './losses.ts';
import {
  askDeadlineMs,
  type FromOrchestrator,
  noJournalVariable,
  type OrchestratorSettings,
  type ToOrchestrator,
} from './process-messages.ts';

/** Runs an orchestrator in a process of its own, with the counter server as its only server. */
const {
  url,
  token,
  counterFile,
  journalFile,
  database,
  resultsDirectory: directory,
  decisionMs = askDeadlineMs,
  sustainedUptimeMs,
} = JSON.parse(process.argv[2]!) as OrchestratorSettings;
const own = processFaults();
let onServer: Fault = noFault;
const fault: Fault = (point) => {
  own(point);
  onServer(point);
};
process.on('disconnect', () => process.exit(0));

const openJournal = () =>
  database
    ? openPostgresJournal({ ...database, name: 'orchestrator', owner: 'orchestrator' })
    : openSqliteJournal({ file: journalFile });
const journal = process.env[noJournalVariable] ? undefined : await openJournal();
// It is killed far more often than a server that is worth calling would die.
const counter = { ...counterServer(counterFile), maxRestarts: 1_000_000, circuitThreshold: 1_000_000 };
const host = startMcpHost({
  servers: { counter },
  ...(sustainedUptimeMs !== undefined && { tuning: { sustainedUptimeMs } }),
});
await host.inventory();
// Its first message says that it is ready.
let isReady = false;
// Patient back-off is for brokers that stay away; the campaign kills its broker every few seconds, for minutes.
const client = await connectBroker({
  url,
  token,
  agent: 'orchestrator',
  waitForBroker: true,
  log: lossesOf((lost) => isReady && process.send?.(lost)),
});
// Calls of one tool wait for a decision, which the fleet's operator gives.
const approvals = { roles: { worker: ['mcp_counter__slow'] }, deadlineMs: decisionMs, notify: [] };
const results = directory === undefined ? undefined : await ResultStore.open({ directory });
const resultRules = { worker: { maxInlineBytes: 8192 } };
await startOrchestrator({
  ...{ client, host, journal, fault },
  ...(!withoutLanes && { lanes: `${journalFile}.sock` }),
  policy: wholePolicy({ ...(journal && { approvals }), ...(results && { results: resultRules }) }),
  ...(results && { results }),
});

function killServer(): void {
  const pid = host.servers()[0]?.pid;
  if (pid === undefined) return;
  process.kill(pid, 'SIGKILL');
  const killed: FromOrchestrator = { serverKilled: pid };
  process.send?.(killed);
}

process.on('message', ({ serverFault, killServer: now }: ToOrchestrator) => {
  if (serverFault !== undefined) onServer = serverFault === null ? noFault : faultAt(serverFault, killServer);
  if (now) killServer();
});
isReady = true;
process.send?.({ pid: process.pid });
