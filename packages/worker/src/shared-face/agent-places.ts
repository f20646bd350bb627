import { Budget, type FaceLimits, SignalboxError } from '@signalbox/protocol';

/** The most connections to the broker that are being opened at a time: each unknown token costs it one. */
const maxConnecting = 64;

interface Entry {
  sessions: number;
  /** Counts what its sessions write, which is read later beyond it. */
  bytes: Budget;
}

/** The place of one session, until it is disposed. */
export interface SessionPlace extends Disposable {
  readonly bytes: Budget;
  /** The agent is connected: the place is one of a session now. */
  connected(): void;
}

/** Counts the sessions of each token, and those that are being opened. */
export class AgentPlaces {
  readonly #limits: FaceLimits;
  readonly #now: () => number;
  readonly #entries = new Map<string, Entry>();
  #connecting = 0;

  /** `now`: monotonic milliseconds. */
  constructor(limits: FaceLimits, now: () => number) {
    this.#limits = limits;
    this.#now = now;
  }

  /** Takes a place for a session of a token. Throws `too_many_connections`, which says of what there are too many. */
  take(token: string): SessionPlace {
    const { agents, sessionsPerAgent, bytesPerSecond } = this.#limits;
    if (this.#connecting >= maxConnecting) throw tooMany('too many agents are being connected');
    const known = this.#entries.get(token);
    if (!known && this.#entries.size >= agents) {
      throw tooMany(`this face serves ${agents} agents already; raise worker.limits.agents`);
    }
    if (known && known.sessions >= sessionsPerAgent) {
      throw tooMany(
        `this agent has ${sessionsPerAgent} connections here; end some, or raise worker.limits.sessionsPerAgent`,
      );
    }
    const entry = known ?? {
      sessions: 0,
      bytes: new Budget(bytesPerSecond, 2 * bytesPerSecond, this.#now()),
    };
    entry.sessions++;
    this.#entries.set(token, entry);
    this.#connecting++;
    let isConnecting = true;
    const connected = (): void => {
      if (isConnecting) this.#connecting--;
      isConnecting = false;
    };
    return {
      bytes: entry.bytes,
      connected,
      [Symbol.dispose]: () => {
        connected();
        entry.sessions--;
        if (entry.sessions === 0) this.#entries.delete(token);
      },
    };
  }
}

function tooMany(message: string): SignalboxError {
  return new SignalboxError('too_many_connections', message, { retryable: true });
}
