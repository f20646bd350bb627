import { startBroker } from '@signalbox/broker';
import { type DatabaseShare, storesOn } from '../peers/stores-on-postgres.ts';
import { serveParent, setupOf } from '../processes.ts';
import { unlimitedMessages } from '../unlimited.ts';

/** One of the brokers on a schema, which makes tokens when it is told for whom. */
const { dataDir, postgres } = setupOf<{ dataDir: string; postgres: DatabaseShare }>();
const broker = await startBroker({
  dataDir,
  port: 0,
  stores: storesOn(postgres),
  limits: unlimitedMessages,
});
serveParent({
  facts: { url: broker.url, pid: String(process.pid) },
  obey: async (order) => {
    const tokens: string[] = [];
    for (const agent of order as string[])
      tokens.push((await broker.issueToken({ agent, role: 'worker' })).token);
    return tokens;
  },
  stop: () => broker.stop(),
});
