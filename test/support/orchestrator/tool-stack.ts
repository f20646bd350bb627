import { type BrokerClient, connectBroker, requestAddress } from '@signalbox/client';
import { type McpHost, type McpServerConfig, startMcpHost } from '@signalbox/mcp-host';
import { type Orchestrator, type OrchestratorOptions, startOrchestrator } from '@signalbox/orchestrator';
import type { Limits } from '@signalbox/protocol';
import {
  type CounterLine,
  counterServer,
  readCounter,
  startTestBroker,
  type TestBroker,
  tempDir,
} from '@signalbox/testing';
import { type ExecutorOptions, McpProxyExecutor } from '@signalbox/worker';

/** A real broker, a real host with a counter server (`counter`) and an orchestrator; gone when disposed. */
export interface ToolFleet extends AsyncDisposable {
  readonly broker: TestBroker;
  readonly host: McpHost;
  readonly orchestrator: Orchestrator;
  /** A directory of the test's own. */
  readonly directory: string;
  /** What the counter server did with one of its tools, in order. */
  ran(tool: string): CounterLine[];
  executor(agent: string, role?: string, options?: Partial<ExecutorOptions>): Promise<McpProxyExecutor>;
  /** A plain client on a sub-inbox of the agent, or on `address`. */
  client(agent: string, role?: string, address?: string): Promise<BrokerClient>;
}

export interface ToolFleetOptions
  extends Pick<
    OrchestratorOptions,
    | 'allowlist'
    | 'budgets'
    | 'callTimeoutMs'
    | 'concurrency'
    | 'drainMs'
    | 'journal'
    | 'monotonicNow'
    | 'now'
    | 'repeat'
  > {
  servers?: Record<string, McpServerConfig>;
  limits?: Partial<Limits>;
}

export async function startToolFleet(options: ToolFleetOptions = {}): Promise<ToolFleet> {
  const { servers, limits, ...orchestration } = options;
  await using starting = new AsyncDisposableStack();
  const directory = starting.use(await tempDir());
  const broker = starting.use(await startTestBroker({ durability: 'process', ...(limits && { limits }) }));
  const counterFile = `${directory.path}/counter.jsonl`;
  const host = starting.use(startMcpHost({ servers: { counter: counterServer(counterFile), ...servers } }));
  const { url } = broker;
  const token = await broker.token('orchestrator', 'orchestrator');
  const server = starting.use(
    await connectBroker({ url, token, agent: 'orchestrator', backoff: 'orchestrator' }),
  );
  const orchestrator = starting.use(await startOrchestrator({ client: server, host, ...orchestration }));
  const opened = starting.move();
  const tokens = new Map<string, Promise<string>>();
  const tokenOf = (agent: string, role: string) => {
    const known = tokens.get(agent) ?? broker.token(agent, role);
    tokens.set(agent, known);
    return known;
  };
  return {
    broker,
    host,
    orchestrator,
    directory: directory.path,
    ran: (tool) => readCounter(counterFile).filter((line) => line.tool === tool),
    async executor(agent, role = 'worker', more = {}) {
      return opened.use(
        await McpProxyExecutor.connect({ url, token: await tokenOf(agent, role), agent, ...more }),
      );
    },
    async client(agent, role = 'worker', address = requestAddress(agent)) {
      return opened.use(await connectBroker({ url, token: await tokenOf(agent, role), agent: address }));
    },
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  };
}
