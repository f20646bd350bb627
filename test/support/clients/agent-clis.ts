/** An MCP server that a client starts. */
export interface ServerEntry {
  command: string;
  args: string[];
  env: Record<string, string>;
}

/** A part of how a client is started. Paths of files are relative to its home. */
export interface ClientSetup {
  args?: string[];
  env?: Record<string, string>;
  files?: Record<string, string>;
}

/** An agent CLI, and how it is started without its vendor's service. */
export interface AgentCli {
  /** Its program. */
  name: string;
  package: string;
  version: string;
  /** Makes it ask a model at a local address. */
  model(url: string, home: string): ClientSetup;
  /** Gives it MCP servers, whose tools it may call without a person. */
  servers(entries: Record<string, ServerEntry>, home: string): ClientSetup;
  /** Gives it one prompt, after which it ends. */
  prompt(text: string): string[];
  /** The way in which it ends a server, in the words of the record, if a server sees another sign of it in each run. */
  ending?: string;
}

const key = 'none-is-needed';
const json = (value: unknown): string => `${JSON.stringify(value, undefined, 2)}\n`;

/** The settings of opencode, which kilo shares. */
function opencode(
  name: string,
  config: string,
  variable: string,
): Pick<AgentCli, 'model' | 'servers' | 'prompt'> {
  return {
    model: (url) => ({
      env: Object.fromEntries(
        ['AUTOUPDATE', 'MODELS_FETCH', 'DEFAULT_PLUGINS', 'LSP_DOWNLOAD'].map((what) => [
          `${name.toUpperCase()}_DISABLE_${what}`,
          '1',
        ]),
      ),
      files: {
        [config]: json({
          model: 'local/scripted',
          small_model: 'local/scripted',
          provider: {
            local: {
              npm: '@ai-sdk/openai-compatible',
              options: { baseURL: `${url}/v1`, apiKey: key },
              models: { scripted: { tool_call: true, limit: { context: 200_000, output: 8_000 } } },
            },
          },
        }),
      },
    }),
    servers: (entries) => ({
      env: {
        [variable]: JSON.stringify({
          mcp: Object.fromEntries(
            Object.entries(entries).map(([server, { command, args, env }]) => [
              server,
              { type: 'local', command: [command, ...args], environment: env, enabled: true },
            ]),
          ),
          permission: { '*': 'allow' },
        }),
      },
    }),
    prompt: (text) => ['run', text],
  };
}

/** The clients that are known, by the number of their users. */
export const agentClis: readonly AgentCli[] = [
  {
    name: 'claude',
    package: '@anthropic-ai/claude-code',
    version: '2.1.332',
    model: (url) => ({
      env: {
        ANTHROPIC_BASE_URL: url,
        ANTHROPIC_API_KEY: key,
        DISABLE_AUTOUPDATER: '1',
        DISABLE_TELEMETRY: '1',
      },
    }),
    servers: (entries, home) => ({
      args: [
        `--mcp-config=${home}/servers.json`,
        '--strict-mcp-config',
        `--allowedTools=${Object.keys(entries)
          .map((name) => `mcp__${name}`)
          .join(',')}`,
      ],
      files: { 'servers.json': json({ mcpServers: entries }) },
    }),
    prompt: (text) => ['-p', text],
  },
  {
    name: 'codex',
    package: '@openai/codex',
    version: '0.171.0',
    // What it tells a model depends on what it knows of it.
    model: (url) => ({
      args: [
        '-c',
        `model_providers.local={name="local",base_url="${url}/v1",wire_api="responses",env_key="LOCAL_KEY"}`,
        ...['-c', 'model_provider="local"', '-c', 'model="gpt-5.5"'],
      ],
      env: { LOCAL_KEY: key },
    }),
    servers: (entries) => ({
      args: Object.entries(entries).flatMap(([name, { command, args }]) => [
        ...['-c', `mcp_servers.${name}.command=${JSON.stringify(command)}`],
        ...['-c', `mcp_servers.${name}.args=${JSON.stringify(args)}`],
        ...['-c', `mcp_servers.${name}.default_tools_approval_mode="approve"`],
        ...['-c', `mcp_servers.${name}.required=true`, '-c', `mcp_servers.${name}.startup_timeout_sec=60`],
      ]),
    }),
    prompt: (text) => ['exec', '--skip-git-repo-check', text],
  },
  {
    name: 'copilot',
    package: '@github/copilot',
    version: '1.0.102',
    model: (url) => ({
      env: {
        COPILOT_PROVIDER_BASE_URL: `${url}/v1`,
        COPILOT_PROVIDER_API_KEY: key,
        COPILOT_MODEL: 'scripted',
        COPILOT_AUTO_UPDATE: 'false',
      },
    }),
    servers: (entries) => ({
      args: [
        '--additional-mcp-config',
        JSON.stringify({
          mcpServers: Object.fromEntries(
            Object.entries(entries).map(([name, entry]) => [name, { type: 'local', ...entry, tools: ['*'] }]),
          ),
        }),
        '--allow-all-tools',
      ],
    }),
    prompt: (text) => ['-p', text],
    ending: 'SIGTERM, stdin closed, both or neither',
  },
  {
    name: 'gemini',
    package: '@google/gemini-cli',
    version: '0.61.0',
    model: (url) => ({
      // With a model of its own choice it first asks another one which to take.
      args: ['-m', 'gemini-2.5-flash'],
      env: { GOOGLE_GEMINI_BASE_URL: url, GEMINI_API_KEY: key, GEMINI_CLI_TRUST_WORKSPACE: 'true' },
      files: {
        '.gemini/settings.json': json({
          security: { auth: { selectedType: 'gemini-api-key' } },
          general: { enableAutoUpdate: false },
          privacy: { usageStatisticsEnabled: false },
        }),
      },
    }),
    servers: (entries, home) => ({
      env: { GEMINI_CLI_SYSTEM_SETTINGS_PATH: `${home}/system.json` },
      files: {
        'system.json': json({
          mcpServers: Object.fromEntries(
            Object.entries(entries).map(([name, entry]) => [name, { ...entry, trust: true }]),
          ),
        }),
      },
    }),
    prompt: (text) => ['-p', text],
  },
  {
    name: 'opencode',
    package: 'opencode-ai',
    version: '1.18.33',
    ...opencode('opencode', '.config/opencode/opencode.json', 'OPENCODE_CONFIG_CONTENT'),
  },
  {
    name: 'cline',
    package: 'cline',
    version: '3.0.65',
    model: (url, home) => ({
      args: ['--data-dir', `${home}/data`, '-P', 'openai-compatible', '-m', 'scripted'],
      env: { CLINE_NO_AUTO_UPDATE: '1' },
      files: {
        'data/settings/providers.json': json({
          version: 1,
          lastUsedProvider: 'openai-compatible',
          providers: {
            'openai-compatible': {
              settings: {
                provider: 'openai-compatible',
                model: 'scripted',
                apiKey: key,
                baseUrl: `${url}/v1`,
              },
              updatedAt: '2026-01-01T00:00:00.000Z',
              tokenSource: 'manual',
            },
          },
        }),
      },
    }),
    servers: (entries) => ({
      files: { 'data/settings/cline_mcp_settings.json': json({ mcpServers: entries }) },
    }),
    prompt: (text) => [text],
  },
  {
    name: 'qwen',
    package: '@qwen-code/qwen-code',
    version: '0.24.4',
    model: (url) => ({
      env: { OPENAI_BASE_URL: `${url}/v1`, OPENAI_API_KEY: key, OPENAI_MODEL: 'scripted' },
      files: {
        '.qwen/settings.json': json({
          security: { auth: { selectedType: 'openai' } },
          general: { enableAutoUpdate: false },
          privacy: { usageStatisticsEnabled: false },
        }),
      },
    }),
    servers: (entries, home) => ({
      args: ['--mcp-config', `${home}/servers.json`],
      files: {
        'servers.json': json({
          mcpServers: Object.fromEntries(
            Object.entries(entries).map(([name, entry]) => [name, { ...entry, trust: true }]),
          ),
        }),
      },
    }),
    prompt: (text) => ['-p', text],
  },
  {
    name: 'kilo',
    package: '@kilocode/cli',
    version: '7.7.7',
    ...opencode('kilo', '.config/kilo/opencode.json', 'KILO_CONFIG_CONTENT'),
  },
];
