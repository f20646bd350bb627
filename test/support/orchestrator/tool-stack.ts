import type { BrokerOptions } from '@signalbox/broker';
import { type BrokerClient, type ConnectOptions, connectBroker, requestAddress } from '@signalbox/client';
import { type HostTuning, type McpHost, type McpServerConfig, startMcpHost } from '@signalbox/mcp-host';
import type { ToolProvider } from '@signalbox/mcp-host/tool-calls';
import {
  type Orchestrator,
  type OrchestratorOptions,
  type Policy,
  startOrchestrator,
  wholePolicy,
} from '@signalbox/orchestrator';
import { agentOf } from '@signalbox/protocol';
import {
  type CounterLine,
  counterServer,
  readCounter,
  startTestBroker,
  type TestBroker,
  tempDir,
} from '@signalbox/testing';
import { type ExecutorOptions, McpProxyExecutor } from '@signalbox/worker';
import { withoutLanes } from '../without-lanes.ts';

/** A real broker, a real host of MCP servers and an orchestrator; they end when it is disposed. */
export interface ToolStack extends AsyncDisposable {
  readonly broker: TestBroker;
  readonly host: McpHost;
  readonly orchestrator: Orchestrator;
  /** A directory for the test. */
  readonly directory: string;
  /** Returns what the counter server recorded about one of its tools, in order. */
  ran(tool: string): CounterLine[];
  executor(agent: string, role?: string, options?: Partial<ExecutorOptions>): Promise<McpProxyExecutor>;
  /** Connects a client on a sub-inbox of the agent. */
  client(agent: string, role?: string): Promise<BrokerClient>;
  /** Connects a client on an address: the agent's own inbox, or a sub-inbox. */
  clientAt(address: string, role?: string): Promise<BrokerClient>;
}

/** Settings of a {@link ToolStack}; those of the orchestrator and the rules of its policy stand beside them. */
export interface ToolStackOptions
  extends Pick<
      OrchestratorOptions,
      | 'approvalLimits'
      | 'askSettledEveryMs'
      | 'callTimeoutMs'
      | 'concurrency'
      | 'drainMs'
      | 'fault'
      | 'heldCallLimits'
      | 'journal'
      | 'monotonic'
      | 'now'
      | 'reportEveryMs'
      | 'results'
      | 'sizes'
    >,
    Partial<Omit<Policy, 'results'>>,
    Pick<ConnectOptions, 'tracing'> {
  /** The rules which decide what results of each role are kept. */
  resultRules?: Policy['results'];
  broker?: Partial<BrokerOptions>;
  /** Hosted servers besides the counter server `counter`. */
  servers?: Record<string, McpServerConfig>;
  tuning?: Partial<HostTuning>;
  /** Tools that no server has. */
  providers?: readonly ToolProvider[];
  /** `false` hosts no counter server. */
  counter?: false;
}

export async function startToolStack(options: ToolStackOptions = {}): Promise<ToolStack> {
  const {
    broker: brokerOptions,
    servers,
    counter = true,
    tuning = {},
    tracing,
    providers,
    results,
    resultRules = {},
    ...rest
  } = options;
  await using starting = new AsyncDisposableStack();
  const directory = starting.use(await tempDir());
  const broker = starting.use(await startTestBroker({ durability: 'process', ...brokerOptions }));
  const counterFile = `${directory.path}/counter.jsonl`;
  const hosted = { ...(counter && { counter: counterServer(counterFile) }), ...servers };
  const host = starting.use(
    startMcpHost({
      ...{ servers: hosted, tuning, tracing },
      ...(providers && { providers }),
      ...(rest.journal && { pins: rest.journal.pins }),
    }),
  );
  const { url, tokenOf } = broker;
  const token = await tokenOf('orchestrator', 'orchestrator');
  const server = starting.use(await connectBroker({ url, token, agent: 'orchestrator', tracing }));
  const policy = wholePolicy({ ...rest, results: resultRules });
  const orchestrator = starting.use(
    await startOrchestrator({
      ...{ client: server, host, policy, results },
      ...(!withoutLanes && { lanes: `${directory.path}/orchestrator.sock` }),
      ...rest,
    }),
  );
  const started = starting.move();
  const clientAt = async (address: string, role = 'worker') => {
    const secret = await tokenOf(agentOf(address), role);
    return started.use(await connectBroker({ url, token: secret, agent: address }));
  };
  return {
    broker,
    host,
    orchestrator,
    directory: directory.path,
    ran: (tool) => readCounter(counterFile).filter((line) => line.tool === tool),
    async executor(agent, role = 'worker', more = {}) {
      const secret = await tokenOf(agent, role);
      return started.use(await McpProxyExecutor.connect({ url, token: secret, agent, ...more }));
    },
    client: (agent, role) => clientAt(requestAddress(agent), role),
    clientAt,
    [Symbol.asyncDispose]: () => started.disposeAsync(),
  };
}
