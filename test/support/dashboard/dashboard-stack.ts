import type { BrokerOptions } from '@signalbox/broker';
import { connectBroker, requestAddress } from '@signalbox/client';
import { issueToken, makeSignInLink } from '@signalbox/client/operator';
import { dashboardOf } from '@signalbox/daemon/broker';
import type { ListedRoles } from '@signalbox/daemon/config/internal';
import { RoleToolAllowlist } from '@signalbox/orchestrator';
import { agentOfToken } from '@signalbox/protocol';
import { startToolStack, type ToolStack, type ToolStackOptions } from '../orchestrator/tool-stack.ts';
import { builtPage } from './built-page.ts';

/** A broker with an orchestrator that serves the dashboard. */
export interface DashboardStack {
  readonly stack: ToolStack;
  /** The origin of the page: `http://127.0.0.1:PORT`. */
  readonly origin: string;
  /** The token of a person, by its name behind `operator.`. */
  person(name: string, role?: 'operator' | 'observer'): Promise<{ id: string; token: string }>;
  /** Returns a link that signs in the holder of a token; by default the first operator. */
  link(token?: string): Promise<string>;
  /** Stops the broker, and starts it again on the same port. */
  restart(options?: Partial<BrokerOptions>): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

const allowlist = RoleToolAllowlist.fromEntries([
  ['builder', ['mcp_counter__*']],
  ['operator', ['*']],
]);

export async function startDashboardStack({
  listed,
  ...options
}: ToolStackOptions & { listed?: () => ListedRoles } = {}): Promise<DashboardStack> {
  const stack = await startToolStack({ allowlist, ...options });
  const { broker } = stack;
  const serve = (): void =>
    broker.broker.servePages(
      dashboardOf(broker.broker, {
        orchestrator: 'orchestrator',
        ...(listed && { listed }),
        directory: builtPage(),
        log: () => {},
      }),
    );
  serve();
  const connect = (token: string, agent: string) =>
    connectBroker({ url: broker.url, token, agent: requestAddress(agent) });
  return {
    stack,
    origin: `http://127.0.0.1:${broker.port}`,
    async person(name, role = 'operator') {
      await using operator = await connect(await broker.operatorToken(), 'operator');
      const { id, token } = await issueToken(operator, { agent: `operator.${name}`, role });
      return { id, token };
    },
    async link(token) {
      const text = token ?? (await broker.operatorToken());
      await using person = await connect(text, agentOfToken(text)!);
      return (await makeSignInLink(person)).links[0]!;
    },
    async restart(changes) {
      await broker.restart(changes);
      serve();
    },
    [Symbol.asyncDispose]: async () => await stack[Symbol.asyncDispose](),
  };
}
