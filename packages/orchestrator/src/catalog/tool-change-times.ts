import type { Tool } from '@signalbox/protocol';

/** How many changes are remembered. */
const remembered = 10_000;

/** When each tool's definition last changed: came, went or became different, after the first look at the tools. */
export class DefinitionLog {
  #known: ReadonlyMap<string, Tool> | undefined;
  /** Oldest change first. */
  readonly #changedAt = new Map<string, number>();

  /** Compares the tools with those of the last time. `now` is in epoch milliseconds. */
  record(tools: readonly Tool[], now: number): void {
    const before = this.#known;
    this.#known = new Map(tools.map((tool) => [tool.name, tool]));
    if (!before) return;
    for (const name of new Set([...before.keys(), ...this.#known.keys()])) {
      if (!isSame(before.get(name), this.#known.get(name))) this.#remember(name, now);
    }
  }

  /** Epoch milliseconds; `undefined` if it is as it was at the first look. */
  changedAt(tool: string): number | undefined {
    return this.#changedAt.get(tool);
  }

  #remember(name: string, now: number): void {
    this.#changedAt.delete(name);
    this.#changedAt.set(name, now);
    if (this.#changedAt.size <= remembered) return;
    for (const oldest of this.#changedAt.keys()) {
      this.#changedAt.delete(oldest);
      return;
    }
  }
}

function isSame(a: Tool | undefined, b: Tool | undefined): boolean {
  return a === b || (a !== undefined && b !== undefined && JSON.stringify(a) === JSON.stringify(b));
}
