import {
  bodyLimits,
  isDeeperThan,
  jsonSize,
  SignalboxError,
  type Tool,
  toolSchema,
} from '@signalbox/protocol';
import type { ToolProblem } from '@signalbox/tool-calls';
import type { ServerLimits } from '../config/server-limits.ts';

/** The tools of a server as it describes them, and the problems of those that were left out. */
export interface ToolList {
  tools: Tool[];
  problems: ToolProblem[];
  /** The hints that a tool's server declares and that are not honoured, by the name of the tool. */
  withheld?: ReadonlyMap<string, readonly string[]>;
}

/** One page of a tool list as the server sent it. */
export interface ToolPage {
  tools: unknown;
  nextCursor?: unknown;
}

/** The bounds of one tool list. */
export type ToolListLimits = Pick<ServerLimits, 'toolBytes' | 'tools' | 'toolListBytes'>;

/** A server that sends more pages has no end, or sends pages without tools. */
const maxPages = 1_000;
/** The problems of a list that are told one by one; the others are counted. */
const maxProblems = 20;
/** A manifest holds a tool within three more levels, and readers of message bodies accept only so many. */
const maxToolDepth = 60;
/** The most values and names of one definition: readers accept a manifest with one such tool. */
const maxToolNodes = bodyLimits.maxNodes - 1000;

/**
 * Reads a paginated tool list to its end, or until it is longer than `limits` allow. Tools that are invalid or too large
 * are left out and reported, and so are those past the limits. Throws `SignalboxError` `bad_tool_list` if a page holds
 * no array of tools, and the errors of `readPage`.
 */
export async function readToolList(
  readPage: (cursor: string | undefined) => Promise<ToolPage>,
  limits: ToolListLimits,
): Promise<ToolList> {
  const kept = new KeptTools(limits);
  const seen = new Set<string>();
  let cursor: string | undefined;
  for (let pages = 1; ; pages++) {
    const page = await readPage(cursor);
    if (!Array.isArray(page.tools))
      throw new SignalboxError('bad_tool_list', 'the tool list is not an array');
    for (const entry of page.tools) kept.add(entry);
    cursor = typeof page.nextCursor === 'string' && page.nextCursor !== '' ? page.nextCursor : undefined;
    if (cursor === undefined || kept.isFull) break;
    if (seen.has(cursor) || pages === maxPages) {
      const why = seen.has(cursor) ? 'repeats a cursor' : `does not end within ${maxPages} pages`;
      kept.report({ message: `the tool list ${why}; what was read so far is offered` });
      break;
    }
    seen.add(cursor);
  }
  return kept.list(cursor !== undefined);
}

/**
 * Takes secrets out of the names and texts in the problems of a list. Names are cut to 128 characters after that,
 * because a secret that was cut would not be recognised.
 */
export function redactedList({ tools, problems }: ToolList, redact: (text: string) => string): ToolList {
  return {
    tools,
    problems: problems.map(({ tool, message }) => ({
      ...(tool !== undefined && { tool: redact(tool).slice(0, 128) }),
      message: redact(message),
    })),
  };
}

/** Collects the tools of one list, as far as the limits allow, and what is wrong with the others. */
class KeptTools {
  readonly #limits: ToolListLimits;
  /** The tools by name, each with its JSON text. */
  readonly #tools = new Map<string, { tool: Tool; json: string }>();
  readonly #problems: ToolProblem[] = [];
  #unreported = 0;
  #bytes = 0;
  /** Set when a tool did not fit any more: all tools after it are left out, too. */
  #full: { first: string; why: string; others: number } | undefined;

  constructor(limits: ToolListLimits) {
    this.#limits = limits;
  }

  /** Whether every further tool is left out. */
  get isFull(): boolean {
    return this.#full !== undefined;
  }

  add(entry: unknown): void {
    if (this.#full) {
      this.#full.others++;
      return;
    }
    const read = this.#read(entry);
    if ('problem' in read) {
      this.report(read.problem);
      return;
    }
    const { name } = read.tool;
    const earlier = this.#tools.get(name);
    if (earlier) {
      if (earlier.json !== read.json)
        this.report({ tool: name, message: 'the server lists this name twice; the first is offered' });
      return;
    }
    const why = this.#whyFull(read.bytes);
    if (why !== undefined) {
      this.#full = { first: name, why, others: 0 };
      return;
    }
    this.#bytes += read.bytes;
    this.#tools.set(name, read);
  }

  report(problem: ToolProblem): void {
    if (this.#problems.length < maxProblems) this.#problems.push(problem);
    else this.#unreported++;
  }

  /** Returns the list. `hasMore` tells that the server has more pages, which were not read. */
  list(hasMore: boolean): ToolList {
    const problems = [...this.#problems];
    if (this.#unreported > 0) problems.push({ message: `${this.#unreported} more tools have problems` });
    if (this.#full) {
      const { first, why, others } = this.#full;
      const after = hasMore ? ' with all tools after it' : others === 0 ? '' : ` with ${others} after it`;
      problems.push({ tool: first, message: `left out${after}: ${why}` });
    }
    return { tools: [...this.#tools.values()].map(({ tool }) => tool), problems };
  }

  #whyFull(bytes: number): string | undefined {
    const { tools, toolListBytes } = this.#limits;
    if (this.#tools.size >= tools) {
      return `the server has more than ${figure(tools)} tools; raise limits.tools of the server`;
    }
    if (this.#bytes + bytes > toolListBytes) {
      return `the tools of the server take more than ${figure(toolListBytes)} bytes; raise limits.toolListBytes of the server`;
    }
    return undefined;
  }

  #read(entry: unknown): { tool: Tool; json: string; bytes: number } | { problem: ToolProblem } {
    const refused = (message: string) => {
      const name = typeof entry === 'object' && entry !== null && 'name' in entry ? entry.name : undefined;
      return { problem: { ...(typeof name === 'string' && { tool: name }), message: `left out${message}` } };
    };
    if (isDeeperThan(entry, maxToolDepth)) {
      return refused(`: its definition nests deeper than ${maxToolDepth} levels`);
    }
    const json = JSON.stringify(entry);
    const bytes = Buffer.byteLength(json);
    const { toolBytes } = this.#limits;
    if (bytes > toolBytes) {
      return refused(
        `: its definition takes ${figure(bytes)} bytes, more than ${figure(toolBytes)}; raise limits.toolBytes of the server`,
      );
    }
    if (json.length > maxToolNodes && jsonSize(json, bodyLimits).nodes > maxToolNodes) {
      return refused(`: its definition has more than ${figure(maxToolNodes)} values and names`);
    }
    const parsed = toolSchema.safeParse(entry);
    // The entry itself, not the parsed copy: its fields stay as they are, in their order.
    if (parsed.success) return { tool: entry as Tool, json, bytes };
    const issue = parsed.error.issues[0]!;
    return refused(`, not a valid tool: ${issue.path.join('.') || 'tool'}: ${issue.message}`);
  }
}

function figure(value: number): string {
  return value.toLocaleString('en-US');
}
