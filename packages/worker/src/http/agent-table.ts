import { createHash } from 'node:crypto';
import type { Log } from '@signalbox/client';
import { messageOf, permissionsOfRole, SignalboxError } from '@signalbox/protocol';
import { type ExecutorOptions, McpProxyExecutor } from '../executor/mcp-proxy-executor.ts';
import { type HttpRefusal, unavailable } from '../sdk/http-refusal.ts';
import { type SessionIds, sessionIdsOf } from '../sdk/session-id.ts';
import { type BearerToken, invalidToken } from './bearer-token.ts';
import type { FaceAgent } from './face-agent.ts';
import { RecentRefusals } from './recent-refusals.ts';

const refusedForMs = 30_000;
const maxRefused = 1_000;
/** The most connections that are being opened at a time: each unknown token costs the broker one. */
const maxConnecting = 64;

export interface AgentTableOptions {
  connect: Omit<ExecutorOptions, 'token' | 'agent' | 'signal' | 'waitForBroker' | 'manifestTimeoutMs'>;
  /** The longest time for a connection and its list of tools, in milliseconds. */
  connectTimeoutMs: number;
  open: (executor: McpProxyExecutor, sessionIds: SessionIds) => FaceAgent;
  maxAgents: number;
  idleMs: number;
  /** Monotonic milliseconds. */
  now: () => number;
  log: Log;
}

interface Entry {
  readonly agent: Promise<FaceAgent | HttpRefusal>;
  /** Set once the agent is connected. */
  opened?: FaceAgent;
  /** The number of requests and streams that are being served. */
  inUse: number;
}

/**
 * The agents of a face, one connection for each token. The table keeps only the hashes of tokens. The broker decides about a
 * token; the table remembers an accepted one while it is connected, and a refusal for a short time.
 */
export class AgentTable {
  readonly #options: AgentTableOptions;
  readonly #entries = new Map<string, Entry>();
  readonly #refused: RecentRefusals<HttpRefusal>;
  #connecting = 0;

  constructor(options: AgentTableOptions) {
    this.#options = options;
    this.#refused = new RecentRefusals({ forMs: refusedForMs, maxEntries: maxRefused, now: options.now });
  }

  /** The number of agents that are connected or being connected. */
  get size(): number {
    return this.#entries.size;
  }

  /** Calls `use` with the agent of a token, which stays connected meanwhile; calls `refuse` with the reason if there is none. */
  async with<T>(
    bearer: BearerToken,
    use: (agent: FaceAgent) => Promise<T>,
    refuse: (refusal: HttpRefusal) => Promise<T>,
  ): Promise<T> {
    const key = createHash('sha256').update(bearer.token).digest('base64');
    const known = this.#refused.get(key);
    if (known) return refuse(known);
    const entry = this.#entries.get(key) ?? this.#add(key, bearer);
    if ('status' in entry) return refuse(entry);
    entry.inUse++;
    try {
      const agent = await entry.agent;
      return await ('status' in agent ? refuse(agent) : use(agent));
    } finally {
      entry.inUse--;
    }
  }

  /** Closes the agents that nobody has used for a while. */
  async sweep(): Promise<void> {
    const since = this.#options.now() - this.#options.idleMs;
    for (const [key, entry] of this.#entries) {
      await entry.opened?.sweep();
      if (idleSince(entry) <= since) await this.#remove(key, entry, 'idle');
    }
  }

  /** Closes all agents. */
  async close(): Promise<void> {
    const removals = [...this.#entries].map(async ([key, entry]) => {
      await entry.agent;
      await this.#remove(key, entry, 'the face ends');
    });
    await Promise.all(removals);
  }

  #add(key: string, bearer: BearerToken): Entry | HttpRefusal {
    if (this.#connecting >= maxConnecting) return unavailable('too many agents are being connected', 1_000);
    if (this.#entries.size >= this.#options.maxAgents && !this.#makeRoom()) {
      return unavailable(
        `this face serves ${this.#options.maxAgents} agents already; raise worker.limits.agents`,
        10_000,
      );
    }
    this.#connecting++;
    const entry: Entry = { agent: this.#connect(key, bearer), inUse: 0 };
    this.#entries.set(key, entry);
    void entry.agent.then((agent) => {
      this.#connecting--;
      if ('status' in agent) {
        this.#entries.delete(key);
        return;
      }
      entry.opened = agent;
      void agent.executor.closed.then((reason) => {
        if (reason && isRefusal(reason)) this.#refused.add(key, refusalOf(reason));
        return this.#remove(key, entry, reason?.code ?? 'closed');
      });
    });
    return entry;
  }

  async #connect(key: string, { token, agent }: BearerToken): Promise<FaceAgent | HttpRefusal> {
    const { connect, connectTimeoutMs, open, log } = this.#options;
    const timeLimit = new AbortController();
    const timer = setTimeout(() => timeLimit.abort(), connectTimeoutMs);
    // Half of the time, so that the error can name the missing part: the orchestrator, not the broker.
    const manifestTimeoutMs = connectTimeoutMs / 2;
    try {
      const { signal } = timeLimit;
      const executor = await McpProxyExecutor.connect({
        ...connect,
        token,
        agent,
        signal,
        manifestTimeoutMs,
      });
      if (permissionsOfRole(executor.role).length > 0 || executor.role === 'orchestrator') {
        await executor.close();
        throw new SignalboxError('forbidden', `this is the ${executor.role}'s token; an agent needs its own`);
      }
      log({ event: 'face_agent_connected', agent, role: executor.role, tools: executor.toolCount });
      return open(executor, sessionIdsOf(token));
    } catch (thrown) {
      const refusal = refusalOf(thrown);
      log({ event: 'face_agent_refused', agent, status: refusal.status, reason: messageOf(thrown) });
      if (refusal.status !== 503) this.#refused.add(key, refusal);
      return refusal;
    } finally {
      clearTimeout(timer);
    }
  }

  /** Closes the agent that has been idle longest. Returns false if none is idle. */
  #makeRoom(): boolean {
    const idle = [...this.#entries]
      .filter(([, entry]) => idleSince(entry) < Number.POSITIVE_INFINITY)
      .sort(([, a], [, b]) => idleSince(a) - idleSince(b))[0];
    if (!idle) return false;
    void this.#remove(...idle, 'another needs its place');
    return true;
  }

  /** Closes an agent and forgets it. Never rejects. */
  async #remove(key: string, entry: Entry, reason: string): Promise<void> {
    const { log } = this.#options;
    const agent = entry.opened?.executor.agent;
    if (this.#entries.get(key) === entry) {
      this.#entries.delete(key);
      if (agent !== undefined) log({ event: 'face_agent_left', agent, reason });
    }
    try {
      await entry.opened?.close();
    } catch (thrown) {
      log({ event: 'face_agent_not_closed', agent, reason: messageOf(thrown) });
    }
  }
}

/** Returns the time since which an agent is idle; infinity if it is not. */
function idleSince({ opened, inUse }: Entry): number {
  const since = inUse === 0 ? opened?.idleSince() : undefined;
  return since ?? Number.POSITIVE_INFINITY;
}

/** Returns true if the broker refused the token. */
function isRefusal(thrown: unknown): boolean {
  return thrown instanceof SignalboxError && ['unauthorized', 'forged_sender'].includes(thrown.code);
}

function refusalOf(thrown: unknown): HttpRefusal {
  if (isRefusal(thrown)) {
    return invalidToken(`the broker does not accept this token: ${messageOf(thrown)}`);
  }
  if (thrown instanceof SignalboxError && thrown.code === 'forbidden') {
    return { status: 403, message: messageOf(thrown) };
  }
  const aborted = thrown instanceof SignalboxError && thrown.code === 'aborted';
  return unavailable(aborted ? 'the broker or the orchestrator does not answer' : messageOf(thrown));
}
