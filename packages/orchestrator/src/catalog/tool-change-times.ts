import type { Tool } from '@signalbox/protocol';

/** The number of changed tools that are remembered. */
const maxRemembered = 10_000;

/** Remembers when the definition of each tool last changed: when it was added, removed or altered. */
export class ToolChangeTimes {
  #known: ReadonlyMap<string, Tool> | undefined;
  /** Oldest change first. */
  readonly #changedAt = new Map<string, number>();

  /**
   * Compares the tools with those of the previous call. The first call records no changes. `now` is in epoch
   * milliseconds.
   */
  record(tools: readonly Tool[], now: number): void {
    const before = this.#known;
    this.#known = new Map(tools.map((tool) => [tool.name, tool]));
    if (!before) return;
    for (const name of new Set([...before.keys(), ...this.#known.keys()])) {
      if (!isSame(before.get(name), this.#known.get(name))) this.#remember(name, now);
    }
  }

  /** Returns the time of the last change, in epoch milliseconds; `undefined` if no change was recorded. */
  changedAt(tool: string): number | undefined {
    return this.#changedAt.get(tool);
  }

  #remember(name: string, now: number): void {
    this.#changedAt.delete(name);
    this.#changedAt.set(name, now);
    if (this.#changedAt.size <= maxRemembered) return;
    for (const oldest of this.#changedAt.keys()) {
      this.#changedAt.delete(oldest);
      return;
    }
  }
}

function isSame(a: Tool | undefined, b: Tool | undefined): boolean {
  return a === b || (a !== undefined && b !== undefined && JSON.stringify(a) === JSON.stringify(b));
}
