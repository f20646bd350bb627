import type { TokenStore } from '@signalbox/store';
import type { TokenRegistry } from './token-registry.ts';

/**
 * Keeps the agents to which messages can be sent: those of live tokens, and those that ever connected. {@link save} writes new ones to the
 * store. Until then they are known by their tokens, also after a restart.
 */
export class KnownAgents {
  readonly #store: TokenStore;
  readonly #tokens: TokenRegistry;
  readonly #connected: Set<string>;
  #unsaved: string[] = [];

  private constructor(store: TokenStore, tokens: TokenRegistry, connected: Set<string>) {
    this.#store = store;
    this.#tokens = tokens;
    this.#connected = connected;
  }

  /** Loads the agents that ever connected from the store. */
  static async load(store: TokenStore, tokens: TokenRegistry): Promise<KnownAgents> {
    return new KnownAgents(store, tokens, new Set(await store.agents()));
  }

  /** Tells whether messages can be sent to this agent. */
  has(agent: string): boolean {
    return this.#connected.has(agent) || this.#tokens.hasLive(agent);
  }

  /** Tells whether an agent ever connected to a broker of the store. */
  everConnected(agent: string): boolean {
    return this.#connected.has(agent);
  }

  /** Adds an agent that said `hello`. */
  add(agent: string): void {
    if (this.#connected.has(agent)) return;
    this.#connected.add(agent);
    this.#unsaved.push(agent);
  }

  /** Adds agents that connected to other brokers. */
  learn(agents: readonly string[]): void {
    for (const agent of agents) this.#connected.add(agent);
  }

  /** Writes the new agents to the store. Those of a failed write are written by the next call. */
  async save(): Promise<void> {
    if (this.#unsaved.length === 0) return;
    const agents = this.#unsaved;
    this.#unsaved = [];
    try {
      await this.#store.addAgents(agents);
    } catch (error) {
      this.#unsaved.unshift(...agents);
      throw error;
    }
  }
}
