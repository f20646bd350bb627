import type { Consumer } from '../core/consumer.ts';

/** The connections that are told when the rights of agents may have changed. */
export class RightsFollowers {
  readonly #followers = new Map<Consumer, ReadonlySet<string>>();

  /** Tells a connection of changes for these agents from now on. */
  set(connection: Consumer, agents: ReadonlySet<string>): void {
    this.#followers.set(connection, agents);
  }

  remove(connection: Consumer): void {
    this.#followers.delete(connection);
  }

  /** Tells those who follow an agent, or everybody if the change may concern any agent. */
  changed(agent: string | undefined): void {
    for (const [connection, agents] of this.#followers)
      if (agent === undefined || agents.has(agent))
        connection.send({ type: 'rights_changed', ...(agent !== undefined && { agent }) });
  }
}
