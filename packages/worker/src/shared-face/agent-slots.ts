import { SignalboxError } from '@signalbox/protocol';
import type { FaceLimits } from '@signalbox/serving';
import { Mentioned } from '../mailbox/inbox/mentioned.ts';

/** The most connections to the broker that are being opened at a time: each unknown token costs the broker one. */
const maxConnecting = 64;
/** The most of them with one token, so that an agent whose connections take long leaves room for others. */
const maxConnectingPerToken = 8;

interface Entry {
  sessions: number;
  connecting: number;
  mentioned: Mentioned;
}

/** The slot of one session, until it is disposed. */
export interface SessionSlot extends Disposable {
  /** Remembers the mail that was mentioned in one of the sessions of its token. */
  readonly mentioned: Mentioned;
  /** Records that the agent is connected: the slot belongs to a session now. */
  connected(): void;
}

/** Counts the sessions of each token, and those that are being opened. */
export class AgentSlots {
  readonly #limits: FaceLimits;
  readonly #entries = new Map<string, Entry>();
  #connecting = 0;

  constructor(limits: FaceLimits) {
    this.#limits = limits;
  }

  /** Takes a slot for a session of a token. Throws `too_many_connections`, which names the limit that was reached. */
  take(token: string): SessionSlot {
    const { agents, sessionsPerAgent } = this.#limits;
    const known = this.#entries.get(token);
    if (this.#connecting >= maxConnecting || (known && known.connecting >= maxConnectingPerToken)) {
      throw tooMany('too many agents are being connected');
    }
    if (!known && this.#entries.size >= agents) {
      throw tooMany(`this face serves ${agents} agents already; raise worker.limits.agents`);
    }
    if (known && known.sessions >= sessionsPerAgent) {
      throw tooManySessions(sessionsPerAgent);
    }
    const entry = known ?? { sessions: 0, connecting: 0, mentioned: new Mentioned() };
    entry.sessions++;
    entry.connecting++;
    this.#entries.set(token, entry);
    this.#connecting++;
    let isConnecting = true;
    const connected = (): void => {
      if (!isConnecting) return;
      isConnecting = false;
      entry.connecting--;
      this.#connecting--;
    };
    return {
      mentioned: entry.mentioned,
      connected,
      [Symbol.dispose]: () => {
        connected();
        entry.sessions--;
        if (entry.sessions === 0) this.#entries.delete(token);
      },
    };
  }
}

/** Refuses one more connection of an agent. */
export function tooManySessions(limit: number): SignalboxError {
  return tooMany(
    `this agent has ${limit} connections here; end some, or raise worker.limits.sessionsPerAgent`,
  );
}

function tooMany(message: string): SignalboxError {
  return new SignalboxError('too_many_connections', message, { retryable: true });
}
