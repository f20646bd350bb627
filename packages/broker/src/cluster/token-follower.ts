import type { TokenStore } from '@signalbox/store';
import type { KnownAgents } from '../auth/known-agents.ts';
import type { TokenRegistry } from '../auth/token-registry.ts';
import type { Holds } from '../holds/holds.ts';

/** The dependencies of a {@link TokenFollower}. */
export interface TokenFollowerDeps {
  /** False if no other broker changes anything. */
  hasOthers: boolean;
  store: Pick<TokenStore, 'changes'>;
  tokens: Pick<TokenRegistry, 'beginChanges' | 'takeOver'>;
  holds: Pick<Holds, 'beginChanges' | 'takeOver'>;
  agents: Pick<KnownAgents, 'learn'>;
  /** Called with the ids of tokens that another broker has revoked. */
  onRevoked: (ids: readonly string[]) => Promise<void>;
}

/** Applies the changes that other brokers have made in the store to tokens, holds and known agents. */
export class TokenFollower {
  readonly #deps: TokenFollowerDeps;
  #version = 0;
  #running: Promise<void> = Promise.resolve();
  /** The read that begins when the running one has ended. */
  #next: Promise<void> | undefined;

  constructor(deps: TokenFollowerDeps) {
    this.#deps = deps;
  }

  /** False if no other broker changes anything. */
  get hasOthers(): boolean {
    return this.#deps.hasOthers;
  }

  /** Resolves when all changes before the call are in force here. Callers share a read that has not begun. */
  follow(): Promise<void> {
    if (!this.hasOthers) return Promise.resolve();
    this.#next ??= this.#running
      .catch(() => {})
      .then(() => {
        this.#next = undefined;
        this.#running = this.#look();
        return this.#running;
      });
    return this.#next;
  }

  async #look(): Promise<void> {
    const { store, tokens, holds, agents, onRevoked } = this.#deps;
    tokens.beginChanges();
    holds.beginChanges();
    const changes = await store.changes?.(this.#version);
    if (!changes) return;
    const { removed, isComplete } = tokens.takeOver(changes);
    if (changes.agents) agents.learn(changes.agents);
    const areHoldsComplete = !changes.holds || holds.takeOver(changes.holds);
    if (isComplete && areHoldsComplete) this.#version = changes.version;
    if (removed.length > 0) await onRevoked(removed);
  }
}
