import { hash } from 'node:crypto';
import type { Log } from '@signalbox/client';
import { messageOf, permissionsOfRole, SignalboxError, servesCalls } from '@signalbox/protocol';
import type { Budget } from '@signalbox/serving';
import { type HttpRefusal, unavailable } from '../sdk/http-refusal.ts';
import { type BearerToken, invalidToken } from './bearer-token.ts';
import { RecentRefusals } from './recent-refusals.ts';

const refusedForMs = 30_000;
const maxRefused = 1_000;
/** The most connections that are being opened at a time: each unknown token costs the broker one. */
const maxConnecting = 64;

/** An agent that requests name by its token, connected to the broker. */
export interface TableAgent {
  /** The agent's id. */
  readonly agent: string;
  /** The role of its token, as the broker attests it. */
  readonly role: string;
  /** Resolves when its connection is closed for good, with the reason unless it was closed here. */
  readonly closed: Promise<SignalboxError | undefined>;
  /** Counts the bytes of the agent's requests; bytes beyond the budget are read later. */
  readonly bytes: Budget;
  /** Returns true while something of it goes on between two requests. */
  isInUse(): boolean;
  /** Called every now and then, to end what is not used. */
  sweep(): Promise<void>;
  close(): Promise<void>;
}

export interface AgentTableOptions<A extends TableAgent> {
  /** Connects the agent of a token. Rejects with the broker's code, or with `forbidden` for an agent that is not served here. */
  connect: (bearer: BearerToken, limits: { signal: AbortSignal; timeoutMs: number }) => Promise<A>;
  /** The longest time for a connection, in milliseconds. */
  connectTimeoutMs: number;
  maxAgents: number;
  idleMs: number;
  /** Monotonic milliseconds. */
  now: () => number;
  log: Log;
}

interface Entry<A> {
  readonly agent: Promise<A | HttpRefusal>;
  /** Set once the agent is connected. */
  opened?: A;
  /** The number of requests and streams that are being served. */
  inUse: number;
  /** The time of the last use, in milliseconds of the face's clock. */
  lastUsedAt: number;
}

/** The use of an agent by one request. Call `end` once, when its answer has left. */
export interface AgentUse<A> {
  readonly agent: A;
  end(): void;
}

/**
 * The agents of a face, one connection for each token. The broker decides about a token. The table remembers an accepted token while it is
 * connected. Of a refused token, which may be long and from anybody, it remembers the hash for a short time.
 */
export class AgentTable<A extends TableAgent> {
  readonly #options: AgentTableOptions<A>;
  /** The agents by their tokens. */
  readonly #entries = new Map<string, Entry<A>>();
  readonly #refused: RecentRefusals<HttpRefusal>;
  #connecting = 0;

  constructor(options: AgentTableOptions<A>) {
    this.#options = options;
    this.#refused = new RecentRefusals({ forMs: refusedForMs, maxEntries: maxRefused, now: options.now });
  }

  /** The number of agents that are connected or being connected. */
  get size(): number {
    return this.#entries.size;
  }

  /** Returns the agent of a token, which stays connected until its use ends, or the reason why there is none. */
  use(bearer: BearerToken): AgentUse<A> | HttpRefusal | Promise<AgentUse<A> | HttpRefusal> {
    const { token } = bearer;
    const entry = this.#entries.get(token) ?? this.#refused.get(hashOf(token)) ?? this.#add(bearer);
    if ('status' in entry) return entry;
    entry.inUse++;
    const end = () => {
      entry.inUse--;
      entry.lastUsedAt = this.#options.now();
    };
    if (entry.opened) return { agent: entry.opened, end };
    return entry.agent.then((agent) => {
      if (!('status' in agent)) return { agent, end };
      end();
      return agent;
    });
  }

  /** Closes the agents that nobody has used for a while. */
  async sweep(): Promise<void> {
    const since = this.#options.now() - this.#options.idleMs;
    for (const [token, entry] of this.#entries) {
      await entry.opened?.sweep();
      if (idleSince(entry) <= since) await this.#remove(token, entry, 'idle');
    }
  }

  /** Closes all agents. */
  async close(): Promise<void> {
    const removals = [...this.#entries].map(async ([token, entry]) => {
      await entry.agent;
      await this.#remove(token, entry, 'the face ends');
    });
    await Promise.all(removals);
  }

  #add(bearer: BearerToken): Entry<A> | HttpRefusal {
    const { token } = bearer;
    if (this.#connecting >= maxConnecting) return unavailable('too many agents are being connected', 1_000);
    if (this.#entries.size >= this.#options.maxAgents && !this.#makeRoom()) {
      return unavailable(
        `this face serves ${this.#options.maxAgents} agents already; raise worker.limits.agents`,
        10_000,
      );
    }
    this.#connecting++;
    const entry: Entry<A> = { agent: this.#connect(bearer), inUse: 0, lastUsedAt: this.#options.now() };
    this.#entries.set(token, entry);
    void entry.agent.then((agent) => {
      this.#connecting--;
      if ('status' in agent) {
        this.#entries.delete(token);
        return;
      }
      entry.opened = agent;
      void agent.closed.then((reason) => {
        if (reason && isRefusal(reason)) this.#refused.add(hashOf(token), refusalOf(reason));
        return this.#remove(token, entry, reason?.code ?? 'closed');
      });
    });
    return entry;
  }

  async #connect(bearer: BearerToken): Promise<A | HttpRefusal> {
    const { connect, connectTimeoutMs, log } = this.#options;
    const { token, agent } = bearer;
    const timeLimit = new AbortController();
    const timer = setTimeout(() => timeLimit.abort(), connectTimeoutMs);
    try {
      const connected = await connect(bearer, { signal: timeLimit.signal, timeoutMs: connectTimeoutMs });
      const { role } = connected;
      if (permissionsOfRole(role).length > 0 || servesCalls(role)) {
        await connected.close();
        throw new SignalboxError('forbidden', `this is the ${role}'s token; an agent needs its own`);
      }
      log({ event: 'face_agent_connected', agent, role });
      return connected;
    } catch (thrown) {
      const refusal = refusalOf(thrown);
      log({ event: 'face_agent_refused', agent, status: refusal.status, reason: messageOf(thrown) });
      if (refusal.status !== 503) this.#refused.add(hashOf(token), refusal);
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
  async #remove(token: string, entry: Entry<A>, reason: string): Promise<void> {
    const { log } = this.#options;
    const agent = entry.opened?.agent;
    if (this.#entries.get(token) === entry) {
      this.#entries.delete(token);
      if (agent !== undefined) log({ event: 'face_agent_left', agent, reason });
    }
    try {
      await entry.opened?.close();
    } catch (thrown) {
      log({ event: 'face_agent_not_closed', agent, reason: messageOf(thrown) });
    }
  }
}

function hashOf(token: string): string {
  return hash('sha256', token, 'base64');
}

/** Returns the time since which an agent is idle; infinity if it is not. */
function idleSince({ opened, inUse, lastUsedAt }: Entry<TableAgent>): number {
  return inUse === 0 && opened && !opened.isInUse() ? lastUsedAt : Number.POSITIVE_INFINITY;
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
