import { openSqliteJournal } from '@signalbox/store/journal';

/** Writes a call that started and one that ended, and dies at once. */
const journal = await openSqliteJournal({ file: process.argv[2]! });
const call = (requestId: string) => ({
  agent: 'rosa',
  requestId,
  role: 'worker',
  tool: 'mcp_counter__count',
  server: 'counter',
  receivedAt: 100,
  startedAt: 200,
  inbox: 'b-1 orchestrator',
  lifetimeMs: 36_000_000,
});
await journal.start(call('ended'));
await journal.finish(
  { agent: 'rosa', requestId: 'ended' },
  { outcome: 'ok', finishedAt: 300, reply: '{"result":{}}' },
);
await journal.start(call('started'));
process.send?.({}, () => process.kill(process.pid, 'SIGKILL'));
