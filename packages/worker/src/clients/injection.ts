import type { Shim } from './shim.ts';

/** What an injection may depend on. Texts and paths only, so that it can be shown without being done. */
export interface InjectionContext {
  shim: Shim;
  /** Private directory of this process; its files are gone when the process is. */
  runDirectory: string;
  /** Working directory of the agent. */
  cwd: string;
  /** The environment that the agent gets, without `SIGNALBOX_*`. */
  env: Readonly<Record<string, string | undefined>>;
  /** Leave the MCP servers alone that the agent has of its own. */
  keepMcp: boolean;
  /** A settings file of the machine's administrator that the agent would lose if we brought our own. */
  systemSettings?: string;
}

/** A file in the run directory. */
export interface PrivateFile {
  path: string;
  text: string;
}

/** An entry in a JSON file that belongs to the user: put in before the agent starts, taken out after it has ended. */
export interface WorkspaceEntry {
  path: string;
  /** Keys from the top of the file to the entry. */
  keys: readonly string[];
  value: unknown;
}

/** How one agent is told of its MCP face. */
export interface Injection {
  client: ClientName | 'other';
  /** The whole command line, the program first. */
  argv: string[];
  /** Variables to add. */
  env: Record<string, string>;
  files: PrivateFile[];
  workspace?: WorkspaceEntry;
  /** What a person should know about it. */
  notes: string[];
}

/** Agent CLIs that are known by the name of their program. */
export type ClientName = 'claude' | 'codex' | 'opencode' | 'gemini' | 'cursor-agent';

/** What one kind of CLI needs; throws `SignalboxError` `usage` where it cannot be done, saying what to do instead. */
export type Inject = (argv: readonly string[], context: InjectionContext) => Omit<Injection, 'client'>;

/** The name under which agents see our MCP server. */
export const serverName = 'signalbox';

/** Longest time for one tool call, in milliseconds: as long as `worker mcp` waits for one. */
export const toolTimeoutMs = 600_000;
