import { stringify } from 'smol-toml';
import { claudeLoading } from './claude.ts';
import { clineTimeout } from './cline.ts';
import { copilotPermission, copilotTools } from './copilot.ts';
import { type FaceCommand, serverName, startTimeoutMs, toolTimeoutMs } from './injection.ts';
import { opencodePermission, opencodeServer } from './opencode.ts';
import { qwenLoading } from './qwen.ts';

/** The way in which a client reaches its MCP face: a process that it starts, or a URL with the token in the variable `SIGNALBOX_TOKEN`. */
export type FaceTarget =
  | { faceCommand: FaceCommand; url?: undefined }
  | { url: string; faceCommand?: undefined };

/** A text that a person pastes into a file. It never holds a token. */
export interface SnippetFile {
  /** The file to paste it into, relative to the project's directory or `~`. */
  file: string;
  format: 'json' | 'toml';
  text: string;
}

/** The configuration of one client: its entry for our server, and notes for the person. */
export interface Snippet extends SnippetFile {
  /** Settings of other files that let the client call our tools without asking. Empty unless they were requested. */
  permissions: SnippetFile[];
  /** Sentences for the person to read. */
  notes: string[];
}

/** Clients for which there is a snippet. */
export const snippetClients = [
  'claude',
  'codex',
  'copilot',
  'opencode',
  'kilo',
  'gemini',
  'qwen',
  'cline',
  'cursor',
  'vscode',
] as const;
/** A client for which there is a snippet. */
export type SnippetClient = (typeof snippetClients)[number];

const tokenVariable = 'SIGNALBOX_TOKEN';

// A token file has further lines, which no header may have.
const fromEnvironment = `start it with the agent's token in the variable ${tokenVariable}, as in: export ${tokenVariable}=$(head -n 1 rosa.token)`;

/** The settings by which one client may call the tools of one server without asking a person. */
interface Allowing {
  /** Keys of the server's own entry. */
  inEntry?: Record<string, unknown>;
  /** Keys beside the entry, in the same file. */
  beside?: Record<string, unknown>;
  inFiles?: SnippetFile[];
  /** The note that is printed with `--allow`. */
  note?: string;
  /** The note that is printed without `--allow`: it says what happens without these settings. */
  otherwise: string;
}

/**
 * Observed with Claude Code 2.1.332, Codex 0.171.0, Copilot CLI 1.0.102, opencode 1.18.33, Kilo 7.7.9, Gemini CLI 0.61.0, Qwen Code 0.24.4
 * and Cline 3.0.65; taken from the documentation of Cursor and VS Code.
 */
const allowing: Readonly<Record<SnippetClient, Allowing>> = {
  claude: {
    inFiles: [
      jsonFile('.claude/settings.local.json', {
        enabledMcpjsonServers: [serverName],
        permissions: { allow: [`mcp__${serverName}`] },
      }),
    ],
    note:
      'these settings count once you have trusted the folder in claude; in ~/.claude/settings.json they count everywhere. ' +
      `For one run --allowedTools=mcp__${serverName} allows the calls`,
    otherwise: 'claude asks before it starts a server of .mcp.json and before each call',
  },
  codex: {
    inEntry: { default_tools_approval_mode: 'approve' },
    otherwise: 'codex asks before calls, and codex exec, which cannot ask, refuses them',
  },
  copilot: {
    note: `copilot has no file for this: start it with ${copilotPermission}`,
    otherwise:
      'copilot asks before calls that may change something, and copilot -p, which cannot ask, refuses them',
  },
  opencode: {
    beside: { permission: opencodePermission },
    note: 'in "permission" the last rule that matches wins: put ours behind "*"',
    otherwise: 'opencode asks before calls where your "permission" says so ("*": "ask")',
  },
  kilo: {
    beside: { permission: opencodePermission },
    note: 'in "permission" the last rule that matches wins: put ours behind "*"',
    otherwise: 'kilo asks before calls where your "permission" says so ("*": "ask")',
  },
  gemini: {
    inEntry: { trust: true },
    otherwise: 'gemini asks before each call, and without a terminal it hides the tools and does not say so',
  },
  qwen: {
    inEntry: { trust: true },
    otherwise: 'qwen asks before each call, and without a terminal it refuses them',
  },
  cline: {
    note: 'cline has no setting for one server: it asks before no call at all, unless it is started with --auto-approve=false',
    otherwise: 'cline asks before calls only if it is started with --auto-approve=false',
  },
  cursor: {
    inFiles: [
      jsonFile('~/.cursor/permissions.json', { mcpAllowlist: [`${serverName}:*`] }),
      jsonFile('.cursor/cli.json', { permissions: { allow: [`Mcp(${serverName}:*)`], deny: [] } }),
    ],
    note: 'the first is for the editor, where it replaces the list of allowed MCP tools in its settings; the second is for cursor-agent',
    otherwise: 'cursor asks before calls',
  },
  vscode: {
    note: 'VS Code has no file for this: at the first call choose to always allow the tools of this server',
    otherwise: 'VS Code asks before calls',
  },
};

interface Entry extends SnippetFile {
  notes: string[];
}

const builders: Readonly<Record<SnippetClient, (target: FaceTarget, allowed: Partial<Allowing>) => Entry>> = {
  claude: ({ faceCommand, url }) => {
    const server = faceCommand ? { type: 'stdio', ...faceCommand } : httpServer(url, `\${${tokenVariable}}`);
    return json('.mcp.json', { mcpServers: { [serverName]: { ...server, ...claudeLoading } } }, [
      'for one project; for all of yours put the same under "mcpServers" in ~/.claude.json',
      ...(faceCommand ? [] : [fromEnvironment]),
    ]);
  },

  codex: ({ faceCommand, url }, { inEntry }) => {
    const own = faceCommand
      ? { ...faceCommand, startup_timeout_sec: startTimeoutMs / 1000 }
      : { url, bearer_token_env_var: tokenVariable };
    const server = { ...own, tool_timeout_sec: toolTimeoutMs / 1000, ...inEntry };
    return {
      file: '~/.codex/config.toml',
      format: 'toml',
      text: stringify({ mcp_servers: { [serverName]: server } }),
      notes: faceCommand ? [] : [fromEnvironment],
    };
  },

  copilot: ({ faceCommand, url }) => {
    const own = faceCommand ? { type: 'local', ...faceCommand } : httpServer(url, `\${${tokenVariable}}`);
    return json('~/.copilot/mcp-config.json', { mcpServers: { [serverName]: { ...own, ...copilotTools } } }, [
      'for all your projects; copilot reads the same from .mcp.json of a project, in folders that it trusts',
      ...(faceCommand ? [] : [fromEnvironment]),
    ]);
  },

  opencode: (target, { beside }) =>
    json(
      'opencode.json',
      { $schema: 'https://opencode.ai/config.json', ...opencodeConfig(target), ...beside },
      [
        'for one project; for all of yours put it into ~/.config/opencode/opencode.json',
        ...(target.faceCommand ? [] : [fromEnvironment]),
      ],
    ),

  // Kilo passes without a word over a server of a project's file that refers to a variable (seen with 7.7.7).
  kilo: (target, { beside }) =>
    json(
      target.faceCommand ? 'kilo.json' : '~/.config/kilo/kilo.json',
      { ...opencodeConfig(target), ...beside },
      target.faceCommand
        ? ['for one project; for all of yours put it into ~/.config/kilo/kilo.json']
        : ['for all your projects: in the file of a project kilo reads no variables', fromEnvironment],
    ),

  gemini: ({ faceCommand, url }, { inEntry }) => {
    const own = faceCommand ?? { httpUrl: url, headers: bearer(`\${${tokenVariable}}`) };
    const server = { ...own, timeout: toolTimeoutMs, ...inEntry };
    return json('.gemini/settings.json', { mcpServers: { [serverName]: server } }, [
      'for one project; for all of yours put it into ~/.gemini/settings.json',
      ...(faceCommand ? [] : [fromEnvironment]),
    ]);
  },

  qwen: ({ faceCommand, url }, { inEntry }) => {
    const own = faceCommand ?? { httpUrl: url, headers: bearer(`\${${tokenVariable}}`) };
    const server = { ...own, ...qwenLoading, ...inEntry };
    return json('~/.qwen/settings.json', { mcpServers: { [serverName]: server } }, [
      `for all your projects; from .qwen/settings.json of a project, qwen starts it once you ran: qwen mcp approve ${serverName}`,
      ...(faceCommand ? [] : [fromEnvironment]),
    ]);
  },

  cline: ({ faceCommand, url }) => {
    const own = faceCommand ?? { type: 'streamableHttp', url, headers: bearer('TOKEN') };
    return json(
      '~/.cline/data/settings/cline_mcp_settings.json',
      { mcpServers: { [serverName]: { ...own, ...clineTimeout } } },
      [
        'cline leaves a process running that keeps its MCP servers: after a change, or with a new token, end it with: cline doctor fix',
        ...(faceCommand
          ? []
          : [
              'cline reads no variables there: put the token of the agent, the first line of its file, in the place of TOKEN, and let nobody else read the file',
            ]),
      ],
    );
  },

  cursor: ({ faceCommand, url }) => {
    const server = faceCommand ?? { url, headers: bearer(`\${env:${tokenVariable}}`) };
    return json('.cursor/mcp.json', { mcpServers: { [serverName]: server } }, [
      'for one project; for all of yours put it into ~/.cursor/mcp.json',
      ...(faceCommand ? [] : [fromEnvironment]),
    ]);
  },

  vscode: ({ faceCommand, url }) => {
    if (faceCommand)
      return json('.vscode/mcp.json', { servers: { [serverName]: { type: 'stdio', ...faceCommand } } }, []);
    const input = {
      id: 'signalbox-token',
      type: 'promptString',
      description: 'Signalbox token',
      password: true,
    };
    const server = httpServer(url, `\${input:${input.id}}`);
    return json('.vscode/mcp.json', { inputs: [input], servers: { [serverName]: server } }, [
      'VS Code asks for the agent’s token once and keeps it in its secret store',
    ]);
  },
};

/**
 * Returns the configuration by which a client uses an MCP face as one of its MCP servers. With `allow` it also holds the settings that let
 * the client call the tools without asking a person.
 */
export function clientSnippet(client: SnippetClient, target: FaceTarget, { allow = false } = {}): Snippet {
  const { inFiles = [], note, otherwise } = allowing[client];
  const { notes, ...entry } = builders[client](target, allow ? allowing[client] : {});
  const about = allow
    ? [
        ...(note ? [note] : []),
        'calls are made without asking a person: the role of the agent decides what it may do',
      ]
    : [`${otherwise}; --allow prints what allows the calls`];
  return { ...entry, permissions: allow ? inFiles : [], notes: [...notes, ...about] };
}

function jsonFile(file: string, value: unknown): SnippetFile {
  return { file, format: 'json', text: `${JSON.stringify(value, undefined, 2)}\n` };
}

function json(file: string, value: unknown, notes: string[]): Entry {
  return { ...jsonFile(file, value), notes };
}

/** Returns the configuration of opencode, and of CLIs that are built on it, for our server. */
function opencodeConfig({ faceCommand, url }: FaceTarget) {
  const server = faceCommand
    ? opencodeServer(faceCommand)
    : { type: 'remote', url, headers: bearer(`{env:${tokenVariable}}`), enabled: true };
  return { mcp: { [serverName]: server } };
}

function httpServer(url: string | undefined, token: string) {
  return { type: 'http', url, headers: bearer(token) };
}

function bearer(token: string): Record<string, string> {
  return { Authorization: `Bearer ${token}` };
}
