import { randomBytes } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { type BrokerClient, connectBroker } from '@signalbox/client';
import type { ConnectedAgent } from '@signalbox/protocol';

/** A supervisor's own connection for one process of an agent. It announces the process's status and sees when the process is ready. */
export interface AgentPresence extends AsyncDisposable {
  /** Sets the status that `list_connected` shows; sent at most once a second. */
  announce(status: SupervisorStatus): void;
  /** Tells operators how the process failed, after this connection too. */
  failed(how: string): void;
  /**
   * Resolves when the client of a new MCP face of the agent, in any process, has listed the tools. It asks the broker, for the first time
   * after `firstMs`.
   */
  listed(firstMs: number): Promise<void>;
  /** True if another supervisor ran an agent of this name and role when this one connected. */
  readonly isShared: boolean;
}

/** The status that a supervisor announces, as it is sent. Times in epoch milliseconds. */
export interface SupervisorStatus {
  worker: 'run';
  command: string;
  pid: number;
  started_at: number;
  restarts: number;
  /** The agent had tools, and has no tools any more. */
  tools_lost?: true;
  last_output_at?: number;
  last_output?: string;
}

const longestPollMs = 2000;

/** Connects as a sub-inbox of the agent. Rejects with the broker's code or `unreachable`. */
export async function openPresence(options: {
  url: string;
  insecure: boolean;
  ca: string | undefined;
  token: string;
  renewToken: (() => Promise<string | undefined>) | undefined;
  agent: string;
}): Promise<AgentPresence> {
  const { url, insecure, ca, token, renewToken, agent } = options;
  const address = `${agent}#run-${randomBytes(12).toString('base64url')}`;
  const client = await connectBroker({
    url,
    insecure,
    ...(ca !== undefined && { ca }),
    token,
    ...(renewToken && { renewToken }),
    agent: address,
  });
  const over = new AbortController();
  const before = await ofAgent(client);
  const earlier = new Set(faces(before).map((face) => face.address));
  return {
    listed: (firstMs) => {
      const { promise, resolve } = Promise.withResolvers<void>();
      void watch(client, earlier, { firstMs, over: over.signal }).then((seen) => seen && resolve());
      return promise;
    },
    isShared: before.some((other) => other.address.startsWith(`${agent}#run-`) && other.address !== address),
    announce: (status) => client.announce(status),
    failed: (how) => client.announceFailure(how),
    async [Symbol.asyncDispose]() {
      over.abort();
      await client.close();
    },
  };
}

async function watch(
  client: BrokerClient,
  earlier: Set<string>,
  { firstMs, over }: { firstMs: number; over: AbortSignal },
): Promise<boolean> {
  for (let waitMs = firstMs; ; waitMs = Math.min(longestPollMs, waitMs * 1.5)) {
    await delay(waitMs, undefined, { signal: over }).catch(() => {});
    if (over.aborted) return false;
    const found = faces(await ofAgent(client).catch(() => []));
    if (found.some(({ address, listed }) => listed && !earlier.has(address))) return true;
  }
}

/** Lists the agent's own connections. */
async function ofAgent(client: BrokerClient): Promise<ConnectedAgent[]> {
  const connected = await client.listConnected({ role: client.role, withStatus: true });
  return connected.filter(({ agent }) => agent === client.agent);
}

function faces(connections: readonly ConnectedAgent[]): { address: string; listed: boolean }[] {
  return connections
    .filter(({ agent, address }) => address.startsWith(`${agent}#mcp-`))
    .map(({ address, status }) => ({ address, listed: hasListed(status) }));
}

function hasListed(status: unknown): boolean {
  return typeof status === 'object' && status !== null && 'listed' in status && status.listed === true;
}
