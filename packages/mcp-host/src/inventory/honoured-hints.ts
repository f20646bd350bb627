import type { Tool } from '@signalbox/protocol';
import type { ToolList } from './tool-list.ts';

/**
 * The hints that grant something, each with the value that grants nothing. A granting hint lets calls be repeated and answers be kept, and
 * makes clients ask their user less.
 */
const harmless = {
  readOnlyHint: false,
  idempotentHint: false,
  destructiveHint: true,
  openWorldHint: true,
} as const;

type Hint = keyof typeof harmless;

const hints = Object.keys(harmless) as Hint[];
const none: ReadonlySet<Hint> = new Set();
/** The most tools that are reported one by one; the others are counted. */
const maxReported = 10;

/**
 * Decides which hints of a server's tools are honoured: those of the first list after its start under its configuration,
 * or after the operator's reload. A hint that grants more later, or of a tool that comes later, is withheld until the next reload.
 * A hint that grants less counts at once, and from then on.
 */
export class HonouredHints {
  /** The hints that each tool of the first list may grant, by name. */
  #granted: Map<string, ReadonlySet<Hint>> | undefined;

  /** Makes the next list the first one. */
  forget(): void {
    this.#granted = undefined;
  }

  /** Returns the list with the honoured hints only. Withheld hints are reported as problems and in `withheld`. */
  apply(list: ToolList): ToolList {
    const granted = this.#granted;
    if (!granted) {
      this.#granted = new Map(list.tools.map((tool) => [tool.name, new Set(grantsOf(tool))]));
      return list;
    }
    const withheld = new Map<string, readonly Hint[]>();
    const tools = list.tools.map((tool) => {
      const before = granted.get(tool.name);
      const now = grantsOf(tool);
      if (before) granted.set(tool.name, new Set(now.filter((hint) => before.has(hint))));
      const refused = now.filter((hint) => !(before ?? none).has(hint));
      if (refused.length === 0) return tool;
      withheld.set(tool.name, refused);
      return withoutGrants(tool, refused);
    });
    if (withheld.size === 0) return list;
    return { ...list, tools, problems: [...list.problems, ...problemsOf(withheld)], withheld };
  }
}

/** Clients read hints loosely, so every value but the harmless one counts as a grant. */
function grantsOf({ annotations = {} }: Tool): Hint[] {
  return hints.filter((hint) => {
    const value = annotations[hint];
    return harmless[hint] ? value !== undefined && value !== true : Boolean(value);
  });
}

function withoutGrants(tool: Tool, refused: readonly Hint[]): Tool {
  const values = Object.fromEntries(refused.map((hint) => [hint, harmless[hint]]));
  return { ...tool, annotations: { ...tool.annotations, ...values } };
}

function problemsOf(withheld: ReadonlyMap<string, readonly Hint[]>) {
  const all = [...withheld];
  const reported = all.slice(0, maxReported).map(([tool, refused]) => ({
    tool: tool.slice(0, 128),
    message: `its server now declares ${refused.map(declaration).join(' and ')}, which is not honoured until the server is reloaded`,
  }));
  const others = all.length - reported.length;
  if (others === 0) return reported;
  const [first] = all[maxReported]!;
  const message = `this and ${others - 1} more tools declare hints that are not honoured until the server is reloaded`;
  return [...reported, { tool: first.slice(0, 128), message }];
}

function declaration(hint: Hint): string {
  return `${hint}: ${String(!harmless[hint])}`;
}
