/** The most calls that are known for each agent, and the most agents for which they are known. */
const maxCalls = 50;
const maxAgents = 1_000;

/**
 * Knows the newest calls of each agent, so that they can be listed without an index on the disk, for which every call would pay. If there
 * are too many agents, those that have made no call for the longest time are forgotten.
 */
export class NewestCalls {
  readonly #ids = new Map<string, string[]>();

  /** Adds a call, in the order of the starts. */
  add(agent: string, requestId: string): void {
    const ids = this.#ids.get(agent) ?? [];
    ids.push(requestId);
    // This is not done at each call, since removing the first element moves all others.
    if (ids.length > 2 * maxCalls) ids.splice(0, maxCalls);
    this.#ids.delete(agent);
    this.#ids.set(agent, ids);
    if (this.#ids.size <= maxAgents) return;
    const [oldest] = this.#ids.keys();
    this.#ids.delete(oldest!);
  }

  /** Returns the ids of an agent's newest calls, some of which may have been deleted. */
  of(agent: string): readonly string[] {
    return (this.#ids.get(agent) ?? []).slice(-maxCalls);
  }
}
