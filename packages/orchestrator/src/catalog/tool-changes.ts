import type { Tool, ToolChangeReport } from '@signalbox/protocol';

/** The number of changed tools that are remembered. */
const maxRemembered = 10_000;
/** The most changes of one server that are listed. */
const maxListed = 20;

/** The last change of a tool. */
interface Change extends ToolChangeReport {
  server: string | undefined;
  /** False if its server listed its tools for the first time, or listed none: that says nothing about the tool. */
  isNews: boolean;
}

/** The tools at one moment, and the server of each. */
export interface KnownTools {
  tools: readonly Tool[];
  serverOf: (tool: string) => string | undefined;
}

interface Known {
  byName: ReadonlyMap<string, Tool>;
  serverOf: KnownTools['serverOf'];
}

/** Remembers the last change of each tool's definition, and its time. */
export class ToolChanges {
  readonly #digest: (tool: Tool) => string;
  #known: Known | undefined;
  /** Oldest change first. */
  readonly #changes = new Map<string, Change>();

  /** `digest` returns a text that differs for any two definitions that differ. */
  constructor(digest: (tool: Tool) => string) {
    this.#digest = digest;
  }

  /**
   * Compares the tools with those of the previous call. The first call records no changes. `now` is in epoch
   * milliseconds.
   */
  record({ tools, serverOf }: KnownTools, now: number): void {
    const before = this.#known;
    const after: Known = { byName: new Map(tools.map((tool) => [tool.name, tool])), serverOf };
    this.#known = after;
    if (!before) return;
    const [toldBefore, tells] = [serversOf(before), serversOf(after)];
    for (const name of new Set([...before.byName.keys(), ...after.byName.keys()])) {
      const change = this.#changeOf(before.byName.get(name), after.byName.get(name));
      if (!change) continue;
      const server = serverOf(name) ?? before.serverOf(name);
      this.#remember({
        tool: name,
        at: now,
        ...change,
        server,
        isNews: toldBefore.has(server) && tells.has(server),
      });
    }
  }

  /**
   * Returns the time of the last change, in epoch milliseconds; `undefined` if no change was recorded. The first list of a server, or its
   * end, is none.
   */
  changedAt(tool: string): number | undefined {
    const change = this.#changes.get(tool);
    return change?.isNews ? change.at : undefined;
  }

  /** Lists the last changes of the tools of a server that had listed its tools before, newest first. */
  ofServer(name: string): ToolChangeReport[] {
    return [...this.#changes.values()]
      .filter(({ server, isNews }) => isNews && server === name)
      .slice(-maxListed)
      .reverse()
      .map(({ server: _, isNews: __, ...change }) => change);
  }

  #changeOf(
    before: Tool | undefined,
    after: Tool | undefined,
  ): Omit<ToolChangeReport, 'tool' | 'at'> | undefined {
    if (before === after) return undefined;
    const hashes = {
      ...(before && { before: this.#digest(before) }),
      ...(after && { after: this.#digest(after) }),
    };
    if (!before) return { what: 'added', ...hashes };
    if (!after) return { what: 'removed', ...hashes };
    const fields = fieldsThatDiffer(before, after);
    return fields.length === 0 ? undefined : { what: 'changed', fields, ...hashes };
  }

  #remember(change: Change): void {
    this.#changes.delete(change.tool);
    this.#changes.set(change.tool, change);
    const [oldest] = this.#changes.keys();
    if (this.#changes.size > maxRemembered && oldest !== undefined) this.#changes.delete(oldest);
  }
}

function serversOf({ byName, serverOf }: Known): Set<string | undefined> {
  return new Set(Array.from(byName.keys(), serverOf));
}

/** Names the fields of a definition that differ: `description`, `inputSchema`. */
function fieldsThatDiffer(a: Tool, b: Tool): string[] {
  const names = new Set([...Object.keys(a), ...Object.keys(b)]);
  return [...names].filter((name) => JSON.stringify(a[name]) !== JSON.stringify(b[name])).slice(0, 10);
}
