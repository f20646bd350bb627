import { fileURLToPath } from 'node:url';
import { messageOf } from '@signalbox/protocol';
import { harnessOf } from '../before.ts';
import type { Measurement } from '../measure.ts';
import { startProcess } from '../processes.ts';
import type { CallEntry } from './call-entry.ts';
import { binOf, startMcpProxy, startSupergateway, versionOf } from './npm-proxies.ts';
import { startSignalbox } from './signalbox-stack.ts';

/** A way to call a tool that is ready to be measured. */
export interface CallSeries {
  name: string;
  title: string;
  /** `compared` stands in the table; a `layer` of ours only tells where the time goes. */
  part: 'compared' | 'layer';
  /** Name of the one that this is an earlier state of. */
  earlierOf?: string;
  run(order: { lanes: number; seconds: number }): Promise<Measurement>;
}

interface Candidate {
  name: string;
  title: string;
  part: CallSeries['part'];
  earlierOf?: string;
  entry: () => Promise<CallEntry> | CallEntry;
}

const answerTimeoutMs = 60_000;

/** All ways to call the same `echo` of server-everything, each with a client in its own process. */
export async function openCallSeries(options: {
  /** The root of another checkout to compare with. */
  before: URL | undefined;
  onSkipped: (name: string, reason: string) => void;
}): Promise<AsyncDisposable & { series: CallSeries[] }> {
  const { before, onSkipped } = options;
  await using opened = new AsyncDisposableStack();
  const server = binOf('@modelcontextprotocol/server-everything');
  const ours = opened.use(await startSignalbox(server, harnessOf(thisCheckout)));
  const stdio = (args: string[], tool = 'echo', env = {}): CallEntry => ({
    enters: 'stdio',
    tool,
    command: process.execPath,
    args,
    env,
  });
  const http = ({ url }: { url: string }): CallEntry => ({ enters: 'http', tool: 'echo', url });
  const worker = (root: URL, env: Record<string, string>, tool = 'mcp_everything__echo'): CallEntry =>
    stdio([fileURLToPath(new URL('apps/cli/bin/signalbox.js', root)), 'worker', 'mcp'], tool, env);
  const { url, token } = ours;
  const beforeOf = (root: URL): Candidate => ({
    name: 'signalbox-before',
    title: 'Signalbox, before',
    part: 'compared',
    earlierOf: 'signalbox',
    entry: async () => worker(root, opened.use(await startSignalbox(server, harnessOf(root))).env),
  });
  const candidates: Candidate[] = [
    { name: 'direct', title: 'direct SDK client', part: 'compared', entry: () => stdio([server]) },
    {
      name: 'naive',
      title: 'naive SDK proxy',
      part: 'compared',
      entry: () => stdio([naiveProxy, process.execPath, server]),
    },
    {
      name: 'mcp-proxy',
      title: `mcp-proxy ${versionOf('mcp-proxy')}, HTTP to stdio`,
      part: 'compared',
      entry: async () => http(opened.use(await startMcpProxy(server))),
    },
    {
      name: 'supergateway',
      title: `supergateway ${versionOf('supergateway')}, HTTP to stdio`,
      part: 'compared',
      entry: async () => http(opened.use(await startSupergateway(server))),
    },
    {
      name: 'supergateway-chain',
      title: `two supergateways, stdio to HTTP to stdio`,
      part: 'compared',
      entry: async () => {
        const gateway = opened.use(await startSupergateway(server));
        return stdio([binOf('supergateway'), '--streamableHttp', gateway.url, '--logLevel', 'none']);
      },
    },
    {
      name: 'signalbox',
      title: 'Signalbox',
      part: 'compared',
      entry: () => worker(thisCheckout, ours.env),
    },
    ...(before ? [beforeOf(before)] : []),
    {
      name: 'signalbox-journaled',
      title: 'Signalbox, tool that is not safe to repeat',
      part: 'compared',
      entry: () => worker(thisCheckout, ours.env, 'mcp_journaled__echo'),
    },
    { name: 'host', title: 'MCP host', part: 'layer', entry: () => ({ enters: 'host', server }) },
    {
      name: 'broker',
      title: 'durable request/reply',
      part: 'layer',
      entry: () => ({ enters: 'broker', url, token }),
    },
    {
      name: 'executor',
      title: 'worker library',
      part: 'layer',
      entry: () => ({ enters: 'executor', tool: 'mcp_everything__echo', url, token }),
    },
  ];
  const series: CallSeries[] = [];
  for (const { entry, ...candidate } of candidates) {
    try {
      const child = opened.use(
        await startProcess(new URL('./call-process.ts', import.meta.url), await entry()),
      );
      series.push({
        ...candidate,
        run: (order) => child.ask<Measurement>(order, order.seconds * 1000 + answerTimeoutMs),
      });
    } catch (thrown) {
      onSkipped(candidate.name, messageOf(thrown));
    }
  }
  const resources = opened.move();
  return { series, [Symbol.asyncDispose]: () => resources.disposeAsync() };
}

const naiveProxy = fileURLToPath(new URL('./naive-proxy.ts', import.meta.url));
const thisCheckout = new URL('../../../', import.meta.url);
