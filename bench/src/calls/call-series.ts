import { fileURLToPath } from 'node:url';
import { messageOf } from '@signalbox/protocol';
import type { MeasuredRun, Measurement } from '../measure.ts';
import { startProcess } from '../processes.ts';
import type { CallEntry } from './call-entry.ts';
import {
  binOf,
  type HttpProxy,
  startHttpServer,
  startMcpProxy,
  startNaiveHttpProxy,
  startSupergateway,
  versionOf,
} from './npm-proxies.ts';
import { childrenOf, descendantsOf, type NamedProcesses, processorTimes } from './processor-time.ts';
import { type SignalboxStack, startSignalbox } from './signalbox-stack.ts';

/** The clients that call over HTTP at once, and the calls that each of them has under way. */
export const httpClients = 32;
export const callsOfHttpClient = 4;

/** One run of a way to call a tool. `processorUs`: what one call costs each process, in microseconds of processor time. */
export interface CallMeasurement extends Measurement {
  processorUs: Record<string, number>;
}

/** A way to call a tool that is ready to be measured. */
export interface CallSeries {
  name: string;
  title: string;
  /** The transport of the client. A way over HTTP is called by {@link httpClients} clients at once. */
  over: 'stdio' | 'http';
  /** `compared` stands in the table; a `layer` of ours only tells where the time goes. */
  part: 'compared' | 'layer';
  /** Name of the one that this is an earlier state of. */
  earlierOf?: string;
  run(order: { lanes: number; seconds: number }): Promise<CallMeasurement>;
}

interface Candidate extends Omit<CallSeries, 'run'> {
  open: () => Promise<OpenWay> | OpenWay;
}

interface OpenWay {
  entry: CallEntry;
  /** Names the processes between the client and its answer. `client` is the id of the client's process. */
  processes: (client: number) => Promise<NamedProcesses>;
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
  const ours = opened.use(await startSignalbox(commandOf(thisCheckout), server, httpClients));
  const series: CallSeries[] = [];
  for (const { open, ...candidate } of candidatesOf({ server, ours, before, opened })) {
    try {
      const { entry, processes } = await open();
      const client = opened.use(await startProcess(new URL('./call-process.ts', import.meta.url), entry));
      const named = [{ name: 'client', pids: [client.pid] }, ...(await processes(client.pid))];
      series.push({
        ...candidate,
        run: async (order) => {
          const earlier = await processorTimes(named);
          const { operations, ...run } = await client.ask<MeasuredRun>(
            order,
            order.seconds * 1000 + answerTimeoutMs,
          );
          const later = await processorTimes(named);
          const spent = [...later].map(([name, time]) => [name, (time - earlier.get(name)!) / operations]);
          return { ...run, processorUs: Object.fromEntries(spent) };
        },
      });
    } catch (thrown) {
      onSkipped(candidate.name, messageOf(thrown));
    }
  }
  const resources = opened.move();
  return { series, [Symbol.asyncDispose]: () => resources.disposeAsync() };
}

function candidatesOf({
  server,
  ours,
  before,
  opened,
}: {
  server: string;
  ours: SignalboxStack;
  before: URL | undefined;
  opened: AsyncDisposableStack;
}): Candidate[] {
  const { url, executor } = ours;
  const overStdio = { over: 'stdio', part: 'compared' } as const;
  const overHttp = { over: 'http', part: 'compared' } as const;
  const layer = { over: 'stdio', part: 'layer' } as const;
  return [
    {
      name: 'direct',
      title: 'direct to the server',
      ...overStdio,
      open: () => ({ entry: stdio([server]), processes: namedChildren('server') }),
    },
    {
      name: 'naive',
      title: 'naive SDK proxy',
      ...overStdio,
      open: () => ({
        entry: stdio([naiveProxy, process.execPath, server]),
        processes: namedChildren('proxy', 'server'),
      }),
    },
    {
      name: 'supergateway-chain',
      title: 'two supergateways, stdio to HTTP to stdio',
      ...overStdio,
      open: async () => {
        const gateway = opened.use(await startSupergateway(server));
        const args = ['--streamableHttp', gateway.url, '--logLevel', 'none'];
        return { entry: stdio([binOf('supergateway'), ...args]), processes: async () => [] };
      },
    },
    { name: 'signalbox', title: 'Signalbox', ...overStdio, open: () => worker(ours) },
    ...(before
      ? [
          {
            name: 'signalbox-before',
            title: 'Signalbox, before',
            ...overStdio,
            earlierOf: 'signalbox',
            open: async () => worker(opened.use(await startSignalbox(commandOf(before), server, 0))),
          },
        ]
      : []),
    {
      name: 'signalbox-journaled',
      title: 'Signalbox, tool that is not safe to repeat',
      ...overStdio,
      open: () => worker(ours, journaledTool),
    },
    ...[
      { name: 'signalbox-shim', title: 'Signalbox, a shim and a shared face', tool: safeTool },
      {
        name: 'signalbox-shim-journaled',
        title: 'Signalbox, a shim and a shared face, not safe to repeat',
        tool: journaledTool,
      },
    ].map(({ tool, ...naming }) => ({
      ...naming,
      ...overStdio,
      open: () => ({
        ...worker({ ...ours, env: ours.shimEnv }, tool),
        processes: async (client: number) => [
          { name: 'shim', pids: await childrenOf(client) },
          { name: 'face', pids: [ours.pids.face] },
          ...(await behindTheFace(ours)),
        ],
      }),
    })),
    {
      name: 'direct-http',
      title: 'direct to the server',
      ...overHttp,
      open: async () => http(opened.use(await startHttpServer(server)), 'server'),
    },
    {
      name: 'naive-http',
      title: 'naive SDK proxy, HTTP to stdio',
      ...overHttp,
      open: async () => http(opened.use(await startNaiveHttpProxy(server)), 'proxy'),
    },
    {
      name: 'mcp-proxy',
      title: `mcp-proxy ${versionOf('mcp-proxy')}, HTTP to stdio`,
      ...overHttp,
      open: async () => http(opened.use(await startMcpProxy(server)), 'proxy'),
    },
    {
      name: 'supergateway',
      title: `supergateway ${versionOf('supergateway')}, HTTP to stdio`,
      ...overHttp,
      open: async () => http(opened.use(await startSupergateway(server)), 'proxy'),
    },
    ...[
      { name: 'signalbox-http', title: 'Signalbox', tool: safeTool },
      {
        name: 'signalbox-http-journaled',
        title: 'Signalbox, tool that is not safe to repeat',
        tool: journaledTool,
      },
    ].map(({ tool, ...naming }) => ({
      ...naming,
      ...overHttp,
      open: () => ({
        entry: {
          enters: 'http' as const,
          tool,
          url: ours.faceUrl,
          clients: httpClients,
          tokens: ours.workerTokens,
        },
        processes: async () => [{ name: 'face', pids: [ours.pids.face] }, ...(await behindTheFace(ours))],
      }),
    })),
    {
      name: 'host',
      title: 'MCP host',
      ...layer,
      open: () => ({ entry: { enters: 'host', server }, processes: async () => [] }),
    },
    {
      name: 'executor',
      title: 'worker library',
      ...layer,
      open: () => ({
        entry: { enters: 'executor', tool: safeTool, url, ...executor },
        processes: async () => [],
      }),
    },
  ];
}

const safeTool = 'mcp_everything__echo';
const journaledTool = 'mcp_journaled__echo';

function stdio(args: string[], { tool = 'echo', env = {} } = {}): CallEntry {
  const inherited = { PATH: process.env.PATH ?? '', HOME: process.env.HOME ?? '' };
  return { enters: 'stdio', tool, command: process.execPath, args, env: { ...inherited, ...env } };
}

function http({ url, pid }: HttpProxy, name: 'server' | 'proxy'): OpenWay {
  return {
    entry: { enters: 'http', tool: 'echo', url, clients: httpClients },
    processes: async () => [
      { name, pids: [pid] },
      ...(name === 'proxy' ? [{ name: 'server', pids: await descendantsOf(pid) }] : []),
    ],
  };
}

/** A worker over stdio, as the command starts it. */
function worker(stack: SignalboxStack, tool = safeTool): OpenWay {
  return {
    entry: stdio([stack.command, 'worker', 'mcp'], { tool, env: stack.env }),
    processes: async (client) => [
      { name: 'face', pids: await childrenOf(client) },
      ...(await behindTheFace(stack)),
    ],
  };
}

async function behindTheFace({ pids }: SignalboxStack): Promise<NamedProcesses> {
  return [
    { name: 'broker', pids: [pids.broker] },
    { name: 'orchestrator', pids: [pids.orchestrator] },
    { name: 'server', pids: await childrenOf(pids.orchestrator) },
  ];
}

/** Names the child of the client's process, its child, and so on. */
function namedChildren(...names: string[]): OpenWay['processes'] {
  return async (client) => {
    const named: { name: string; pids: readonly number[] }[] = [];
    let pids: readonly number[] = [client];
    for (const name of names) {
      pids = (await Promise.all(pids.map(childrenOf))).flat();
      named.push({ name, pids });
    }
    return named;
  };
}

const naiveProxy = fileURLToPath(new URL('./naive-proxy.ts', import.meta.url));
const thisCheckout = new URL('../../../', import.meta.url);

/** Returns the command of a checkout. */
function commandOf(root: URL): string {
  return fileURLToPath(new URL('apps/cli/bin/signalbox.js', root));
}
