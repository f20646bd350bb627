import { enableCompileCache, flushCompileCache } from 'node:module';
import { serveParent, setupOf } from '../processes.ts';

/** The orchestrator with its journal and its default limits. */
export interface FleetOrchestratorSetup {
  url: string;
  token: string;
  journalFile: string;
  server: { name: string; args: string[] };
  /** The directory of compiled code, as the command keeps it. */
  compiled: string;
}

const { url, token, journalFile, server, compiled } = setupOf<FleetOrchestratorSetup>();
enableCompileCache(compiled);
const { startMcpHost } = await import('@signalbox/mcp-host');
const { startOrchestrator, wholePolicy } = await import('@signalbox/orchestrator');
const { openSqliteJournal } = await import('@signalbox/store/journal');
const { connectBroker } = await import('@signalbox/client');

// The bench kills the server more often than a useful server would die.
const lifted = { maxRestarts: 1_000_000, circuitThreshold: 1_000_000 };
const host = startMcpHost({
  servers: {
    [server.name]: { type: 'stdio', command: process.execPath, args: server.args, ...lifted },
  },
});
const journal = await openSqliteJournal({ file: journalFile });
const client = await connectBroker({
  url,
  token,
  agent: 'orchestrator',
  waitForBroker: true,
});
const orchestrator = await startOrchestrator({ client, host, policy: wholePolicy(), journal });
await host.inventory();
flushCompileCache();
serveParent({
  facts: { pid: `${process.pid}` },
  /** Answers with the process id of the MCP server; null while there is none. */
  obey: async () => host.servers()[0]?.pid ?? null,
  stop: async () => {
    await orchestrator.stop();
    await client.close();
    await host.close();
    await journal[Symbol.asyncDispose]();
  },
});
