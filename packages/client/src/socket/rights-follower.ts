import type { FollowRightsFrame } from '@signalbox/protocol';

/** Called with the agent whose rights may have changed; without one if it may be any. */
export type RightsListener = (agent: string | undefined) => void;

/** Follows the rights of agents over all connections, once somebody listens. */
export class RightsFollower {
  readonly #send: (frame: FollowRightsFrame) => void;
  readonly #listeners = new Set<RightsListener>();
  #agents: readonly string[] = [];
  #isConnected = false;

  constructor(send: (frame: FollowRightsFrame) => void) {
    this.#send = send;
  }

  /** Adds a listener; returns a function that removes it. */
  add(listener: RightsListener): () => void {
    this.#listeners.add(listener);
    this.#ask();
    return () => this.#listeners.delete(listener);
  }

  /** Names the agents to follow besides the own one. */
  follow(agents: readonly string[]): void {
    this.#agents = agents;
    this.#ask();
  }

  /** Asks on a new connection. */
  connected(): void {
    this.#isConnected = true;
    this.#ask();
  }

  /** Tells that any rights may change unseen from now on. */
  disconnected(): void {
    this.#isConnected = false;
    this.changed(undefined);
  }

  changed(agent: string | undefined): void {
    for (const listener of this.#listeners) listener(agent);
  }

  #ask(): void {
    if (this.#isConnected && this.#listeners.size > 0)
      this.#send({ type: 'follow_rights', agents: [...this.#agents] });
  }
}
