import { enableCompileCache, flushCompileCache } from 'node:module';
import { serveParent, setupOf } from '../processes.ts';

/** A broker with the limits it ships with. */
export interface FleetBrokerSetup {
  dataDir: string;
  /** 0 for any. */
  port: number;
  /** The role of each, who gets a token; for the first start only. */
  agents: Readonly<Record<string, string>>;
  /** Where compiled code is kept, as the command keeps it. */
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
