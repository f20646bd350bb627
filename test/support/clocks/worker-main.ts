import { McpProxyExecutor } from '@signalbox/worker';

/** Runs a worker in a process of its own that calls the tools which its parent names, and answers with their results. */
const [url, token] = process.argv.slice(2) as [string, string];
process.on('disconnect', () => process.exit(0));

const executor = await McpProxyExecutor.connect({ url, token, agent: 'walt' });
process.on('message', ({ tool }: { tool: string }) => {
  void executor.execute({ name: tool }).then((outcome) => process.send?.(outcome));
});
process.send?.({ pid: process.pid });
