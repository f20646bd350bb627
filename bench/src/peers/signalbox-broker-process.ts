import { startBroker } from '@signalbox/broker';
import { ready, setupOf } from './processes.ts';

const { dataDir, durability } = setupOf<{ dataDir: string; durability: 'full' | 'process' }>();
const unlimited = { deliverPerSecond: 1e9, deliverBurst: 1e9 };
const broker = await startBroker({ dataDir, durability, port: 0, limits: unlimited });
const issue = async (agent: string, role: string): Promise<string> =>
  (await broker.issueToken({ agent, role })).token;
ready(
  {
    url: broker.url,
    client: await issue('client', 'worker'),
    server: await issue('server', 'worker'),
    orchestrator: await issue('orchestrator', 'orchestrator'),
  },
  () => broker.stop(),
);
