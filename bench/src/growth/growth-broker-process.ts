import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { startBroker } from '@signalbox/broker';
import { serveParent, setupOf } from '../processes.ts';
import { unlimitedMessages } from '../unlimited.ts';
import type { BrokerMemory, BrokerOrder, BrokerSetup } from './growth-broker.ts';

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as (kind: { type: 'major'; flavor: 'last-resort' }) => void;
const { dataDir, clockAt } = setupOf<BrokerSetup>();
const aheadMs = clockAt === undefined ? 0 : clockAt - Date.now();
const broker = await startBroker({
  dataDir,
  port: 0,
  now: () => Date.now() + aheadMs,
  limits: {
    ...unlimitedMessages,
    connections: { total: Number.MAX_SAFE_INTEGER, perAgent: Number.MAX_SAFE_INTEGER },
  },
});

const issue = async (agents: readonly string[]): Promise<string[]> => {
  const tokens: string[] = [];
  for (const agent of agents) tokens.push((await broker.issueToken({ agent, role: 'worker' })).token);
  return tokens;
};

const memory = (): BrokerMemory => {
  // As a broker does that rests.
  collect({ type: 'major', flavor: 'last-resort' });
  const { rss, heapUsed, external } = process.memoryUsage();
  return { rssBytes: rss, liveBytes: heapUsed + external };
};

const obey = async (order: BrokerOrder): Promise<unknown> => {
  switch (order.type) {
    case 'issue':
      return issue(order.agents);
    case 'memory':
      return memory();
  }
};

serveParent({
  facts: { url: broker.url },
  obey: (order) => obey(order as BrokerOrder),
  stop: () => broker.stop(),
});
