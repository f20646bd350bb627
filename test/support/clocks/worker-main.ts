import { McpProxyExecutor } from '@signalbox/worker';

/** A worker in a process of its own, which calls the tool that it is sent and answers with the result. */
const [url, token] = process.argv.slice(2) as [string, string];
process.on('disconnect', () => process.exit(0));

const executor = await McpProxyExecutor.connect({ url, token, agent: 'walt' });
process.on('message', ({ tool }: { tool: string }) => {
  void executor.execute({ name: tool }).then((outcome) => process.send?.(outcome));
});
process.send?.({ pid: process.pid });
