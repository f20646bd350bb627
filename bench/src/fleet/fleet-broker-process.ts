import { enableCompileCache, flushCompileCache } from 'node:module';
import { serveParent, setupOf } from '../processes.ts';

/** A broker with its default limits. */
export interface FleetBrokerSetup {
  dataDir: string;
  /** The port; 0 for any free one. */
  port: number;
  /** The role of each agent, which gets a token; for the first start only. */
  agents: Readonly<Record<string, string>>;
  /** The directory of compiled code, as the command keeps it. */
  compiled: string;
}

const { dataDir, port, agents, compiled } = setupOf<FleetBrokerSetup>();
enableCompileCache(compiled);
const { startBroker } = await import('@signalbox/broker');
const broker = await startBroker({ dataDir, port });
const tokens: Record<string, string> = {};
for (const [agent, role] of Object.entries(agents))
  tokens[agent] = (await broker.issueToken({ agent, role })).token;
flushCompileCache();
serveParent({
  facts: { ...tokens, pid: `${process.pid}`, port: `${broker.port}`, url: broker.url },
  stop: () => broker.stop(),
});
