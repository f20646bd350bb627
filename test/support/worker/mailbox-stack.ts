import type { BrokerOptions } from '@signalbox/broker';
import { type BrokerClient, connectBroker } from '@signalbox/client';
import { startMcpHost } from '@signalbox/mcp-host';
import { type Orchestrator, startOrchestrator } from '@signalbox/orchestrator';
import { startTestBroker, type TestBroker } from '@signalbox/testing';
import { type McpFaceOptions, McpProxyExecutor } from '@signalbox/worker';
import { openDesk } from './mailbox-client.ts';

export type Desk = Awaited<ReturnType<typeof openDesk>>;

/** A broker, and an orchestrator that hosts nothing: agents that only write to each other. */
export interface Mailroom extends AsyncDisposable {
  readonly broker: TestBroker;
  readonly orchestrator: Orchestrator;
  /** An MCP client of this agent, on a face of its own. */
  desk(agent: string, role?: string, options?: Partial<McpFaceOptions>): Promise<Desk>;
  /** A plain client at an address. */
  client(address: string, role?: string): Promise<BrokerClient>;
}

export async function startMailroom(options: Partial<BrokerOptions> = {}): Promise<Mailroom> {
  await using starting = new AsyncDisposableStack();
  const broker = starting.use(await startTestBroker({ durability: 'process', ...options }));
  const { url } = broker;
  const host = starting.use(startMcpHost({ servers: {} }));
  const tokens = new Map<string, Promise<string>>();
  const tokenOf = (agent: string, role: string) => {
    const token = tokens.get(agent) ?? broker.token(agent, role);
    tokens.set(agent, token);
    return token;
  };
  const token = await tokenOf('orchestrator', 'orchestrator');
  const server = starting.use(await connectBroker({ url, token, agent: 'orchestrator' }));
  const orchestrator = starting.use(await startOrchestrator({ client: server, host }));
  const opened = starting.move();
  return {
    broker,
    orchestrator,
    async desk(agent, role = 'worker', faceOptions = {}) {
      const connected = { url, token: await tokenOf(agent, role), agent };
      const executor = opened.use(await McpProxyExecutor.connect(connected));
      return opened.use(await openDesk(executor, faceOptions));
    },
    async client(address, role = 'worker') {
      const agent = address.split('#')[0]!;
      return opened.use(await connectBroker({ url, token: await tokenOf(agent, role), agent: address }));
    },
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  };
}
