import { permissionTimeoutMs } from '../executor/permission-question.ts';

/** The command by which an agent's CLI starts its MCP face, with the variables that say who the agent is. It holds no secret. */
export interface FaceCommand {
  /** An absolute path. */
  command: string;
  args: string[];
  env: Record<string, string>;
}

/** Everything on which an injection depends: texts and paths only, so that it can be shown without being done. */
export interface InjectionContext {
  faceCommand: FaceCommand;
  /** The private directory of this process, removed when the process has ended. */
  runDirectory: string;
  /** The working directory of the agent. */
  cwd: string;
  /** The environment that the agent gets, without `SIGNALBOX_*`. */
  env: Readonly<Record<string, string | undefined>>;
  /** True: the agent keeps its own MCP servers. */
  keepMcp: boolean;
  /** True: the process takes one turn, and a program waits for what it prints. */
  isTurn: boolean;
  /** True: the CLI is to ask its client by ACP before it uses tools of its own. */
  asksClient: boolean;
  /** The shell command of the hook that tells the agent about new mail, for CLIs that have hooks; absent if the agent is to have none. */
  mailHook?: string;
  /** The shell command of the hook that waits for mail beside an idle agent; absent if the agent is not to be woken. */
  wakeHook?: string;
  /**
   * The settings that claude's command line names, if claude asks a person through our MCP server before it uses tools of its own. Absent
   * if the CLI does not ask there.
   */
  settingsToAsk?: Readonly<Record<string, unknown>>;
  /** True: the user approves every MCP server that the workspace names. */
  approveWorkspaceServers: boolean;
  /** Settings files of the machine's administrator that our file would replace, by the CLI that reads them. */
  systemSettings?: SystemSettings;
}

/** The paths of settings files of the machine's administrator, by the CLI that reads them. */
export type SystemSettings = Readonly<Partial<Record<ClientName, string>>>;

/** A file in the run directory. */
export interface PrivateFile {
  path: string;
  text: string;
}

/** An entry in a JSON file that belongs to the user: it is added before the agent starts, and removed after the agent has ended. */
export interface WorkspaceEntry {
  path: string;
  /** The keys that lead from the top of the file to the entry. */
  keys: readonly string[];
  value: unknown;
}

/** The changes that tell one agent's CLI about its MCP face. */
export interface Injection {
  client: ClientName | 'other';
  /** The whole command line, with the program first. */
  argv: string[];
  /** Variables to add. */
  env: Record<string, string>;
  files: PrivateFile[];
  workspace?: WorkspaceEntry;
  /** Sentences for a person to read. */
  notes: string[];
}

/** An agent CLI that is known by the name of its program. */
export type ClientName =
  | 'claude'
  | 'codex'
  | 'copilot'
  | 'opencode'
  | 'kilo'
  | 'gemini'
  | 'qwen'
  | 'cline'
  | 'cursor-agent';

/** Returns a file in the run directory that holds a value as JSON. */
export function jsonFile(path: string, value: unknown): PrivateFile {
  return { path, text: `${JSON.stringify(value, undefined, 2)}\n` };
}

/** Makes the injection for one kind of CLI. Throws `SignalboxError` `usage`, which says what to do instead, if it cannot be done. */
export type Inject = (argv: readonly string[], context: InjectionContext) => Omit<Injection, 'client'>;

/** The name under which agents see our MCP server. */
export const serverName = 'signalbox';

/** The time for which an agent's CLI waits for the start of our MCP server, in milliseconds. */
export const startTimeoutMs = 20_000;

/** The longest time for which an agent's CLI waits for the hook that tells it about new mail, in milliseconds. */
export const hookTimeoutMs = 2_000;

/**
 * The longest time for which an agent stays idle with a hook that waits for mail, in milliseconds. It is close to the longest timer of
 * Node.
 */
export const wakeTimeoutMs = 24 * 86_400_000;

/** The time for which an agent's CLI waits for one tool call, in milliseconds: longer than `worker mcp` lets any call wait. */
export const toolTimeoutMs = 660_000;

/** The time for which claude waits for one call of the tool that asks for permissions, in milliseconds: longer than any question waits. */
export const permissionToolTimeoutMs = permissionTimeoutMs + 60_000;
