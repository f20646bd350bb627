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
  asksFirst,
  bearerVariable,
  commandWords,
  enabled,
  envFile,
  excludedTools,
  headerVariables,
  includedTools,
  ours,
  passedVariables,
  time,
} from './meanings.ts';
import { allowedServers, copilotSwitches, namedOff, prefixRules } from './server-rules.ts';

const itsOwnClient: Meaning = {
  ignored: 'it tells the client whether to ask before calls; here roles decide',
};
const signsIn: Meaning = { ignored: 'signing in is set by auth in signalbox.yaml' };
const headersOfProgram: Meaning = {
  refused: 'its client gets headers from a program: put them into headers, by variables or files',
};

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
  trust: itsOwnClient,
  alwaysAllow: itsOwnClient,
  autoApprove: itsOwnClient,
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
    firstOf: ['httpUrl', 'url', 'command'],
    alsoRead: ['mcp'],
    rules: allowedServers,
  },
  {
    clients: 'Qwen Code',
    section: 'mcpServers',
    file: /[\\/]\.qwen[\\/]settings\.json$/,
    references: qwenReferences,
    firstOf: ['httpUrl', 'url', 'command'],
    urlAlone: 'sse',
    alsoRead: ['mcp'],
    rules: allowedServers,
  },
  {
    clients: 'Copilot CLI',
    section: 'mcpServers',
    file: /[\\/]\.copilot[\\/]mcp-config\.json$/,
    references: editorReferences,
    rules: copilotSwitches,
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
    alsoRead: ['disabledMcpServers'],
    rules: namedOff('disabledMcpServers'),
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
      tools: {
        read: (value) =>
          Object.values(Object(value)).every((tool) =>
            ['auto', 'approve', undefined].includes(Object(tool).approval_mode),
          )
            ? { ignored: 'roles decide which calls are made' }
            : { refused: asksFirst },
      },
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
    alsoRead: ['tools', 'permission'],
    rules: (root, server) =>
      prefixRules(`${server.replace(/[^a-zA-Z0-9_-]/g, '_')}_`, [root.tools, root.permission]),
  },
  {
    clients: 'Amp',
    section: 'amp.mcpServers',
    references: editorReferences,
    alsoRead: ampRules,
    rules: (root) =>
      ampRules.some((key) => root[key] !== undefined)
        ? { refused: 'the file has rules for its tools, which Signalbox cannot keep' }
        : {},
  },
];
