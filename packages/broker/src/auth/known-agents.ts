import type { TokenStore } from '@signalbox/store';
import type { TokenRegistry } from './token-registry.ts';

/**
 * Knows the agents that can be written to: those of live tokens, and those that ever connected. A new one is on disk a
 * second later at the latest; until then its token shows that it exists.
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

  static async load(store: TokenStore, tokens: TokenRegistry): Promise<KnownAgents> {
    return new KnownAgents(store, tokens, new Set(await store.agents()));
  }

  /** True if this agent can be written to. */
  has(agent: string): boolean {
    return this.#connected.has(agent) || this.#tokens.hasLive(agent);
  }

  /** An agent said hello. */
  add(agent: string): void {
    if (this.#connected.has(agent)) return;
    this.#connected.add(agent);
    this.#unsaved.push(agent);
  }

  /** Writes the new agents to disk. */
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
