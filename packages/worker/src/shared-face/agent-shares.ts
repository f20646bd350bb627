import { Budget, type FaceLimits, Slices } from '@signalbox/serving';
import { tooManySessions } from './agent-slots.ts';

/** The number of an agent's lines that are passed on before other agents have their slice. */
const linesPerSlice = 8;

/** A connection to a client that may fail to read. */
export interface UnreadConnection {
  /** The number of bytes that wait for the client. */
  readonly unreadBytes: number;
  /** Ends the connection, because too many bytes wait for its agent. */
  endUnread(): void;
}

/** The parts of a face that all connections of one agent share, also if they use different tokens. */
export class AgentShare {
  /** Counts the bytes that the connections write; bytes beyond the budget are read later. */
  readonly bytes: Budget;
  readonly slices = new Slices(linesPerSlice);
  readonly #connections = new Set<UnreadConnection>();
  readonly #unreadBytes: number;

  constructor({ bytesPerSecond, unreadBytes }: FaceLimits, now: number) {
    this.bytes = new Budget(bytesPerSecond, 2 * bytesPerSecond, now);
    this.#unreadBytes = unreadBytes;
  }

  /** Ends the connections with the most unread bytes until the agent is within its limit. */
  boundUnread(): void {
    const waiting = [...this.#connections].map((connection) => ({
      connection,
      bytes: connection.unreadBytes,
    }));
    let excess = waiting.reduce((sum, { bytes }) => sum + bytes, 0) - this.#unreadBytes;
    for (const { connection, bytes } of waiting.sort((a, b) => b.bytes - a.bytes)) {
      if (excess <= 0) return;
      excess -= bytes;
      this.leave(connection);
      connection.endUnread();
    }
  }

  enter(connection: UnreadConnection): void {
    this.#connections.add(connection);
  }

  leave(connection: UnreadConnection): void {
    this.#connections.delete(connection);
  }
}

/** Holds each agent's share for as long as the agent has a connection. */
export class AgentShares {
  readonly #limits: FaceLimits;
  readonly #now: () => number;
  readonly #shares = new Map<string, { share: AgentShare; uses: number }>();

  /** `now`: monotonic milliseconds. */
  constructor(limits: FaceLimits, now: () => number) {
    this.#limits = limits;
    this.#now = now;
  }

  /**
   * Returns the share of an agent for one of its sessions, until it is disposed. Throws `too_many_connections` if the agent has as many
   * connections as it may, over all its tokens.
   */
  use(agent: string): { share: AgentShare } & Disposable {
    const { sessionsPerAgent } = this.#limits;
    if ((this.#shares.get(agent)?.uses ?? 0) >= sessionsPerAgent) throw tooManySessions(sessionsPerAgent);
    const entry = this.#shares.get(agent) ?? { share: new AgentShare(this.#limits, this.#now()), uses: 0 };
    this.#shares.set(agent, entry);
    entry.uses++;
    return {
      share: entry.share,
      [Symbol.dispose]: () => {
        entry.uses--;
        if (entry.uses === 0) this.#shares.delete(agent);
      },
    };
  }
}
