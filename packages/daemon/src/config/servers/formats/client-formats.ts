import type { ClientFormat, Meaning } from './client-format.ts';
import {
  editorReferences,
  geminiReferences,
  noReferences,
  opencodeReferences,
  qwenReferences,
} from './client-references.ts';
import {
  approvalMode,
  bearerVariable,
  codexEnvironment,
  codexTools,
  commandWords,
  enabled,
  envFile,
  exactTools,
  excludedTools,
  headerVariables,
  includedTools,
  ours,
  passedVariables,
  time,
} from './meanings.ts';
import {
  allOf,
  allowedServers,
  copilotSwitches,
  geminiSwitches,
  namedOff,
  prefixRules,
  toolRules,
} from './server-rules.ts';

const itsOwnClient: Meaning = {
  ignored: 'it tells the client whether to ask before calls; here roles decide',
};
const signsIn: Meaning = { ignored: 'signing in is set by auth in signalbox.yaml' };
const headersOfProgram: Meaning = {
  refused: 'its client gets headers from a program: put them into headers, by variables or files',
};

const settingsRules = {
  alsoRead: ['mcp', 'disabledMcpServers', 'tools', 'excludeTools', 'permissions'],
  rules: allOf(allowedServers, namedOff('disabledMcpServers'), toolRules),
};
/** Clients that read the names of tools as they stand, and no `*` in them. */
const exactNames: Readonly<Record<string, Meaning>> = Object.fromEntries(
  ['tools', 'includeTools', 'enabledTools', 'enabled_tools', 'allowedTools'].map((key) => [key, exactTools]),
);

const ampRules = ['amp.mcpPermissions', 'amp.tools.disable', 'amp.permissions'];

/** Keys that most clients write. Keys of ours that are not here mean the same in each file. */
export const commonKeys: Readonly<Record<string, Meaning>> = {
  serverUrl: ours('url'),
  httpUrl: ours('url'),
  transport: ours('type'),
  enabled,
  tools: includedTools,
  includeTools: includedTools,
  enabledTools: includedTools,
  enabled_tools: includedTools,
  allowedTools: includedTools,
  excludeTools: excludedTools,
  disabledTools: excludedTools,
  disabled_tools: excludedTools,
  timeout: time('timeoutMs', 1),
  envFile,
  env_file: envFile,
  trust: itsOwnClient,
  alwaysAllow: itsOwnClient,
  autoApprove: itsOwnClient,
  alwaysLoadTools: { ignored: 'roles decide which tools are listed, and how' },
  oauth: signsIn,
  headersHelper: headersOfProgram,
  authProviderType: {
    refused: 'its client signs in by a service of Google: write the server into signalbox.yaml, with auth',
  },
};

/** The formats of the clients whose files are read. Those with a `file` come first: others write the same section. */
export const clientFormats: readonly ClientFormat[] = [
  {
    clients: 'Gemini CLI',
    section: 'mcpServers',
    file: /[\\/]\.gemini[\\/]settings\.json$/,
    references: geminiReferences,
    keys: exactNames,
    firstOf: ['httpUrl', 'url', 'command'],
    ...settingsRules,
    switches: geminiSwitches,
  },
  {
    clients: 'Qwen Code',
    section: 'mcpServers',
    file: /[\\/]\.qwen[\\/]settings\.json$/,
    references: qwenReferences,
    keys: exactNames,
    firstOf: ['httpUrl', 'url', 'command'],
    urlAlone: 'sse',
    ...settingsRules,
  },
  {
    clients: 'Copilot CLI',
    section: 'mcpServers',
    file: /[\\/]mcp-config\.json$/,
    references: editorReferences,
    switches: copilotSwitches,
  },
  {
    clients: 'Cline',
    section: 'mcpServers',
    file: /[\\/]cline_mcp_settings\.json$/,
    references: noReferences,
    keys: { timeout: time('timeoutMs', 1000) },
  },
  {
    clients: 'Claude Code, Copilot, Cursor and others',
    section: 'mcpServers',
    references: editorReferences,
    ...settingsRules,
  },
  { clients: 'VS Code', section: 'servers', references: editorReferences },
  {
    clients: 'Codex',
    section: 'mcp_servers',
    references: noReferences,
    keys: {
      env_vars: passedVariables,
      bearer_token_env_var: bearerVariable,
      http_headers: ours('headers'),
      env_http_headers: headerVariables,
      http_headers_helper: headersOfProgram,
      startup_timeout_sec: time('startTimeoutMs', 1000),
      startup_timeout_ms: time('startTimeoutMs', 1),
      tool_timeout_sec: time('timeoutMs', 1000),
      default_tools_approval_mode: approvalMode(['auto', 'approve']),
      enabled_tools: exactTools,
      tools: codexTools,
      environment_id: codexEnvironment,
      experimental_environment: codexEnvironment,
    },
  },
  {
    clients: 'opencode and Kilo',
    section: 'mcp',
    references: opencodeReferences,
    keys: {
      command: commandWords,
      environment: ours('env'),
      timeout: time('startTimeoutMs', 1),
    },
    alsoRead: ['tools', 'permission', 'agent', 'mode'],
    rules: (root, server) =>
      prefixRules(
        `${server.replace(/[^a-zA-Z0-9_-]/g, '_')}_`,
        [root.tools, root.permission],
        [root.agent, root.mode],
      ),
  },
  {
    clients: 'Amp',
    section: 'amp.mcpServers',
    references: editorReferences,
    // Amp reads patterns as we do.
    keys: { includeTools: ours('includeTools') },
    alsoRead: ampRules,
    rules: (root) =>
      ampRules.some((key) => root[key] !== undefined)
        ? { refused: 'the file has rules for its tools, which Signalbox cannot keep' }
        : {},
  },
];
