import { stringify } from 'smol-toml';
import { type FaceCommand, serverName, startTimeoutMs, toolTimeoutMs } from './injection.ts';
import { opencodeServer } from './opencode.ts';

/** How a client reaches its MCP face: a process that it starts, or a URL, with the token in the variable `SIGNALBOX_TOKEN`. */
export type FaceTarget =
  | { faceCommand: FaceCommand; url?: undefined }
  | { url: string; faceCommand?: undefined };

/** A text that a person pastes into a file. It never holds a token. */
export interface Snippet {
  /** The file to paste it into, relative to the project's directory or `~`. */
  file: string;
  format: 'json' | 'toml';
  text: string;
  /** Sentences that the person should read. */
  notes: string[];
}

/** Clients for which there is a snippet. */
export const snippetClients = ['claude', 'codex', 'opencode', 'gemini', 'cursor', 'vscode'] as const;
/** A client for which there is a snippet. */
export type SnippetClient = (typeof snippetClients)[number];

const tokenVariable = 'SIGNALBOX_TOKEN';

const fromEnvironment = `start it with the agent's token in the variable ${tokenVariable}; no file has to hold it`;

const builders: Readonly<Record<SnippetClient, (target: FaceTarget) => Snippet>> = {
  claude: ({ faceCommand, url }) => {
    const server = faceCommand ? { type: 'stdio', ...faceCommand } : httpServer(url, `\${${tokenVariable}}`);
    return json('.mcp.json', { mcpServers: { [serverName]: server } }, [
      'for one project; for all of yours put the same under "mcpServers" in ~/.claude.json',
      ...(faceCommand ? [] : [fromEnvironment]),
    ]);
  },

  codex: ({ faceCommand, url }) => {
    const own = faceCommand
      ? { ...faceCommand, startup_timeout_sec: startTimeoutMs / 1000 }
      : { url, bearer_token_env_var: tokenVariable };
    const server = { ...own, tool_timeout_sec: toolTimeoutMs / 1000 };
    return {
      file: '~/.codex/config.toml',
      format: 'toml',
      text: stringify({ mcp_servers: { [serverName]: server } }),
      notes: faceCommand ? [] : [fromEnvironment],
    };
  },

  opencode: ({ faceCommand, url }) => {
    const server = faceCommand
      ? opencodeServer(faceCommand)
      : { type: 'remote', url, headers: bearer(`{env:${tokenVariable}}`), enabled: true };
    const config = { $schema: 'https://opencode.ai/config.json', mcp: { [serverName]: server } };
    return json('opencode.json', config, [
      'for one project; for all of yours put it into ~/.config/opencode/opencode.json',
      ...(faceCommand ? [] : [fromEnvironment]),
    ]);
  },

  gemini: ({ faceCommand, url }) => {
    const own = faceCommand ?? { httpUrl: url, headers: bearer(`\${${tokenVariable}}`) };
    const server = { ...own, timeout: toolTimeoutMs };
    return json('.gemini/settings.json', { mcpServers: { [serverName]: server } }, [
      'for one project; for all of yours put it into ~/.gemini/settings.json',
      ...(faceCommand ? [] : [fromEnvironment]),
    ]);
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

/** Returns the configuration by which a client uses an MCP face as one of its MCP servers. */
export function clientSnippet(client: SnippetClient, target: FaceTarget): Snippet {
  return builders[client](target);
}

function json(file: string, value: unknown, notes: string[]): Snippet {
  return { file, format: 'json', text: `${JSON.stringify(value, undefined, 2)}\n`, notes };
}

function httpServer(url: string | undefined, token: string) {
  return { type: 'http', url, headers: bearer(token) };
}

function bearer(token: string): Record<string, string> {
  return { Authorization: `Bearer ${token}` };
}
