import { monitorEventLoopDelay } from 'node:perf_hooks';
import { startBroker } from '@signalbox/broker';
import { dashboardOf } from '@signalbox/daemon/broker';
import { builtPage } from '../dashboard/built-page.ts';
import type { BrokerOrder, BrokerSetup } from './page-broker.ts';

/** Runs a broker in a process of its own, with or without the dashboard. It issues tokens, and reports what it uses. */
const { dataDir, hasPage, limits }: BrokerSetup = JSON.parse(process.argv[2]!);
const broker = await startBroker({ dataDir, port: 0, ...(limits && { limits }) });
if (hasPage)
  broker.servePages(
    dashboardOf(broker, {
      orchestrator: 'orchestrator',
      directory: builtPage(),
      log: (event) => process.stderr.write(`${JSON.stringify(event)}\n`),
    }),
  );
const stop = (): void => {
  broker.stop().then(() => process.exit(0));
};
process.on('SIGTERM', stop);
process.on('disconnect', stop);
const delays = monitorEventLoopDelay({ resolution: 1 });
delays.enable();

async function answerTo(order: BrokerOrder): Promise<unknown> {
  if (order.what === 'tokens') {
    const tokens: string[] = [];
    for (const request of order.of) tokens.push((await broker.issueToken(request)).token);
    return tokens;
  }
  const { user, system } = process.cpuUsage();
  const figures = { cpuMicros: user + system, heldUpMs: delays.max / 1e6, rss: process.memoryUsage.rss() };
  delays.reset();
  return figures;
}

process.on('message', async (order: BrokerOrder) => {
  process.send?.({ answer: await answerTo(order) });
});
process.send?.({ url: broker.url, port: broker.port, operatorTokenFile: broker.operatorTokenFile });
