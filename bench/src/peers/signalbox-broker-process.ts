import { startBroker } from '@signalbox/broker';
import { serveParent, setupOf } from '../processes.ts';
import { unlimitedMessages } from '../unlimited.ts';

const { dataDir, durability } = setupOf<{ dataDir: string; durability: 'full' | 'process' }>();
const broker = await startBroker({
  dataDir,
  durability,
  port: 0,
  limits: {
    ...unlimitedMessages,
  },
});
const issue = async (agent: string, role = 'worker'): Promise<string> =>
  (await broker.issueToken({ agent, role })).token;
serveParent({
  facts: {
    url: broker.url,
    ...(broker.socket !== undefined && { socket: broker.socket }),
    client: await issue('client'),
    server: await issue('server'),
    sink: await issue('sink'),
    pile: await issue('pile'),
    orchestrator: await issue('orchestrator', 'orchestrator'),
  },
  stop: () => broker.stop(),
});
