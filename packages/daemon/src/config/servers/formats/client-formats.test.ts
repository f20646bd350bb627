// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the configuration's own syntax
import { expect, test } from 'vitest';
import { parseMcpFile } from '../parse-mcp-file.ts';

const files: Readonly<Record<string, string>> = { '/shop/.env': 'TOKEN=hush\nLEVEL="2"\n' };
const missing = Object.assign(new Error('not there'), { code: 'ENOENT' });

/** Reads a text, or an object as JSON, as the file of this name. */
function read(file: string, content: string | object, env: Record<string, string> = {}) {
  const readFile = (path: string): string => {
    if (files[path] === undefined) throw missing;
    return files[path];
  };
  const text = typeof content === 'string' ? content : JSON.stringify(content);
  const sources = { env, readFile, editor: { workspaceFolder: '/shop' } };
  const { servers, skipped, warnings, problems, secrets } = parseMcpFile(
    text,
    { file, pointer: [] },
    sources,
    () => true,
  );
  expect(problems).toEqual([]);
  const lines = (found: typeof warnings) => found.map(({ path, message }) => `${path}: ${message}`);
  return { servers, leftOut: lines(skipped), warnings: lines(warnings), secrets };
}

const at = {
  claude: '/shop/.mcp.json',
  copilot: '/home/rosa/.copilot/mcp-config.json',
  gemini: '/home/rosa/.gemini/settings.json',
  qwen: '/home/rosa/.qwen/settings.json',
  cline: '/home/rosa/.cline/data/settings/cline_mcp_settings.json',
  code: '/shop/.vscode/mcp.json',
  codex: '/home/rosa/.codex/config.toml',
  opencode: '/shop/opencode.json',
  amp: '/home/rosa/.config/amp/settings.json',
};

test.each([
  ['enabled: false', at.opencode, { mcp: { off: { type: 'local', command: ['x'], enabled: false } } }],
  ['enabled = false', at.codex, '[mcp_servers.off]\ncommand = "x"\nenabled = false'],
  ['disabled: true', at.claude, { mcpServers: { off: { command: 'x', disabled: true } } }],
  [
    'either of the two',
    at.claude,
    { mcpServers: { off: { command: 'x', disabled: false, enabled: false } } },
  ],
  ['mcp.excluded', at.gemini, { mcp: { excluded: ['off'] }, mcpServers: { off: { command: 'x' } } }],
  ['mcp.allowed without it', at.qwen, { mcp: { allowed: ['on'] }, mcpServers: { off: { command: 'x' } } }],
  ['disabledMcpServers', at.claude, { disabledMcpServers: ['off'], mcpServers: { off: { command: 'x' } } }],
  [
    'mcp.excluded in another case',
    at.gemini,
    { mcp: { excluded: ['Off '] }, mcpServers: { off: { command: 'x' } } },
  ],
  [
    'mcp.excluded in a file of another place',
    at.claude,
    { mcp: { excluded: ['off'] }, mcpServers: { off: { command: 'x' } } },
  ],
])('A server is off by %s.', (_, file, content) => {
  expect(read(file, content).servers.off).toMatchObject({ command: 'x', disabled: true });
});

/** A file with its content, and what comes of it. */
type Case<Outcome> = readonly [file: string, content: string | object, outcome: Outcome];

const stdio = { type: 'stdio', command: 'x' };
test.each<Case<object>>([
  [at.copilot, { mcpServers: { a: { ...stdio, tools: ['*'] } } }, {}],
  [at.copilot, { mcpServers: { a: { ...stdio, tools: [] } } }, { includeTools: [] }],
  [
    at.gemini,
    { mcpServers: { a: { ...stdio, includeTools: ['r,s', 't(x)'] } } },
    { includeTools: ['r,s', 't'] },
  ],
  [
    at.gemini,
    { tools: { exclude: ['mcp_a_w', 'run_shell_command(rm)', 'mcp_b_w'] }, mcpServers: { a: stdio } },
    { excludeTools: ['w', 'run_shell_command'] },
  ],
  [
    at.qwen,
    { permissions: { deny: ['mcp__a__w(x)', 'Bash', 'mcp__b'], ask: ['Bash'] }, mcpServers: { a: stdio } },
    { excludeTools: ['w'] },
  ],
  ...['mcp__a', 'mcp_a_*', 'mcp__*', '*'].map(
    (rule) =>
      [
        at.claude,
        { permissions: { deny: [rule] }, mcpServers: { a: stdio } },
        { excludeTools: ['*'] },
      ] as const,
  ),
  [
    at.gemini,
    { mcpServers: { a: { ...stdio, excludeTools: ['w,d'] } } },
    { excludeTools: ['w,d', 'w', 'd'] },
  ],
  [at.claude, { mcpServers: { a: { ...stdio, disabledTools: ['w'] } } }, { excludeTools: ['w'] }],
  [
    at.codex,
    '[mcp_servers.a]\ncommand = "x"\nenabled_tools = ["r"]\ndisabled_tools = ["w"]',
    { includeTools: ['r'], excludeTools: ['w'] },
  ],
  [
    at.opencode,
    { mcp: { a: { ...stdio, command: ['x'] } }, tools: { 'a_w*': false } },
    { excludeTools: ['w*'] },
  ],
  [
    at.opencode,
    { mcp: { a: { ...stdio, command: ['x'] } }, tools: { '*': false, a_r: true } },
    { includeTools: ['r'] },
  ],
  [at.opencode, { mcp: { a: { ...stdio, command: ['x'] } }, permission: 'deny' }, { excludeTools: ['*'] }],
  [
    at.opencode,
    {
      mcp: { a: { ...stdio, command: ['x'] } },
      permission: { 'a_*': 'deny', a_r: 'allow', '*': 'ask', b_x: 'ask' },
    },
    { includeTools: ['r'] },
  ],
])('The filters of %s hold (%j).', (file, content, filters) => {
  const { servers, leftOut } = read(file, content);
  expect(leftOut).toEqual([]);
  const { type: _, command: __, ...rest } = servers.a!;
  expect(rest).toEqual(filters);
});

const written = ['${V:-d}', '${V}', '$V', '{env:V}'];
test.each([
  [at.claude, {}, ['d']],
  [at.claude, { V: '' }, ['', '', '$V', '{env:V}']],
  [at.claude, { V: 'v' }, ['v', 'v', '$V', '{env:V}']],
  [at.gemini, { V: '' }, ['', '', '', '{env:V}']],
  [at.qwen, { V: 'v' }, ['${V:-d}', 'v', 'v', '{env:V}']],
  [at.cline, { V: 'v' }, written],
  [at.opencode, { V: 'v' }, ['${V:-d}', '${V}', '$V', 'v']],
])('%s with %j: references are read as the client reads them.', (file, env, args) => {
  const entry = { command: 'x', args: written.slice(0, args.length) };
  const own = { mcp: { a: { type: 'local', command: ['x', ...written] } } };
  expect(read(file, file === at.opencode ? own : { mcpServers: { a: entry } }, env).servers.a?.args).toEqual(
    args,
  );
});

test.each<Case<string | RegExp>>([
  [
    at.gemini,
    { mcpServers: { a: { command: '$NONE' } } },
    'mcpServers.a.command: $NONE: the environment variable NONE is not set',
  ],
  [
    at.opencode,
    { mcp: { a: { type: 'local', command: ['{env:NONE}'] } } },
    'mcp.a.command[0]: {env:NONE}: the environment variable NONE is not set',
  ],
  [
    at.codex,
    '[mcp_servers.a]\nurl = "https://a.test"\nbearer_token_env_var = "NONE"',
    'mcp_servers.a.bearer_token_env_var: the environment variable NONE is not set',
  ],
  [
    at.code,
    { servers: { a: { command: 'x', envFile: 'gone.env' } } },
    'servers.a.envFile: there is no file /shop/gone.env',
  ],
  [
    at.code,
    { servers: { a: { command: '${command:pick}' } } },
    /^servers\.a\.command: \$\{command:pick\}: is known to an editor only/,
  ],
  [
    at.code,
    { servers: { a: { command: 'x', sandbox: { network: {} } } } },
    /^servers\.a\.sandbox: may hold the server back/,
  ],
  [
    at.claude,
    { mcpServers: { a: { url: 'https://a.test', headersHelper: 'x' } } },
    /^mcpServers\.a\.headersHelper: its client gets headers from a program/,
  ],
  [
    at.claude,
    { mcpServers: { a: { command: 'x', tools: { r: false } } } },
    'mcpServers.a.tools: must be a list',
  ],
  [
    at.codex,
    '[mcp_servers.a]\ncommand = "x"\n[mcp_servers.a.tools.w]\napproval_mode = "prompt"',
    /^mcp_servers\.a\.tools: its client asks a person/,
  ],
  [
    at.codex,
    '[mcp_servers.a]\ncommand = "x"\ndefault_tools_approval_mode = "prompt"',
    /^mcp_servers\.a\.default_tools_approval_mode: /,
  ],
  [
    at.opencode,
    { mcp: { a: { type: 'local', command: ['x'] } }, permission: { 'a_*': 'ask' } },
    /^mcp\.a: its client asks a person/,
  ],
  [
    at.opencode,
    { mcp: { a: { type: 'local', command: ['x'] } }, tools: { a_w: false, 'a_*': true } },
    /^mcp\.a: the file has rules/,
  ],
  ...[
    { tools: { '*_w': false } },
    { permission: { 'a?w': 'deny' } },
    { agent: { plan: { tools: { a_w: false } } } },
    { mode: { plan: { permission: 'deny' } } },
  ].map(
    (rules) =>
      [
        at.opencode,
        { mcp: { a: { type: 'local', command: ['x'] } }, ...rules },
        /^mcp\.a: the file has rules/,
      ] as const,
  ),
  ...[at.gemini, at.qwen, at.copilot, at.claude].map(
    (file) =>
      [
        file,
        { mcpServers: { a: { command: 'x', includeTools: ['r*'] } } },
        /^mcpServers\.a\.includeTools: its client reads \* as part of a name/,
      ] as const,
  ),
  [
    at.codex,
    '[mcp_servers.a]\ncommand = "x"\nenabled_tools = ["*"]',
    /^mcp_servers\.a\.enabled_tools: its client reads \*/,
  ],
  [
    at.codex,
    '[mcp_servers.a]\ncommand = "x"\n[mcp_servers.a.tools.w]\nenabled = false',
    /^mcp_servers\.a\.tools: /,
  ],
  [
    at.codex,
    '[mcp_servers.a]\ncommand = "x"\nenvironment_id = "remote"',
    /^mcp_servers\.a\.environment_id: its client starts the server elsewhere/,
  ],
  ...[
    { mcp: { excluded: 'a' } },
    { mcp: { allowed: { a: true } } },
    { disabledMcpServers: { a: true } },
    { tools: { exclude: [1] } },
    { permissions: { deny: 'mcp__a' } },
  ].map(
    (rules) =>
      [
        at.claude,
        { ...rules, mcpServers: { a: { command: 'x' } } },
        /^mcpServers\.a: '[\w.]+' of the file must be a list of names$/,
      ] as const,
  ),
  ...[{ permissions: { ask: ['mcp__a__w'] } }, { tools: { confirmationRequired: ['mcp_a_w'] } }].map(
    (rules) =>
      [
        at.gemini,
        { ...rules, mcpServers: { a: { command: 'x' } } },
        /^mcpServers\.a: its client asks a person/,
      ] as const,
  ),
  ...['isActive', 'ENABLED', 'available_tools', 'tool_configuration', 'blacklist', 'hidden', 'trusted'].map(
    (key) =>
      [
        at.claude,
        { mcpServers: { a: { command: 'x', [key]: false } } },
        RegExp(`^mcpServers\\.a\\.${key}: may hold the server back`),
      ] as const,
  ),
  [
    at.amp,
    { 'amp.mcpServers': { a: { command: 'x' } }, 'amp.permissions': [] },
    /^amp\.mcpServers\.a: the file has rules/,
  ],
  [at.qwen, { mcpServers: { a: { url: 'https://a.test/sse' } } }, /^mcpServers\.a\.url: the transport 'sse'/],
])('An entry of %s that would lose a secret or a protection is left out (%j).', (file, content, message) => {
  const { servers, leftOut } = read(file, content);
  expect(servers).toEqual({});
  expect(leftOut).toEqual([typeof message === 'string' ? message : expect.stringMatching(message)]);
});

test('The variables of an envFile are secrets, and those of env win.', () => {
  const a = { envFile: '${workspaceFolder}/.env', command: 'x', env: { LEVEL: 1.5, DEBUG: true, ID: '7' } };
  const text = JSON.stringify({ servers: { a } }).replace('"7"', '12345678901234567890');
  const { servers, secrets } = read(at.code, text);
  expect(servers.a?.env).toEqual({ LEVEL: '1.5', DEBUG: 'true', ID: '12345678901234567890', TOKEN: 'hush' });
  expect(secrets.get('hush')).toEqual(['hush']);
});

test('Codex: variables become headers and are inherited, seconds become milliseconds, and lines are those of the TOML file.', () => {
  const text = `model = "x"
[mcp_servers."my docs"]
url = "https://docs.test/mcp"
bearer_token_env_var = "TOKEN"
http_headers = { "X-A" = "\${TOKEN}" }
env_http_headers = { "X-B" = "OTHER" }
startup_timeout_sec = 5
tool_timeout_sec = 0.5
enabled_tools = "read"

[mcp_servers.run]
command = "x"
args = ["\${TOKEN}"]
env_vars = ["TOKEN", { name = "OTHER", source = "local" }]
[mcp_servers.run.env]
PORT = 8080
[mcp_servers.far]
command = "x"
env_vars = [{ name = "TOKEN", source = "remote" }]
`;
  const env = { TOKEN: 'hush', OTHER: 'quiet' };
  const sources = { env, readFile: () => '' };
  const parsed = parseMcpFile(text, { file: at.codex, pointer: [] }, sources, () => true);
  expect(parsed.skipped).toEqual([
    {
      server: 'my docs',
      line: 9,
      path: 'mcp_servers.my docs.enabled_tools',
      message: 'must be a list: put it in [ ]',
    },
    expect.objectContaining({ server: 'far', line: 19, path: 'mcp_servers.far.env_vars' }),
  ]);
  expect(parsed.lines.get('run')).toBe(11);
  expect(parsed.servers).toEqual({
    run: { command: 'x', args: ['${TOKEN}'], env: { PORT: '8080' }, inheritEnv: ['TOKEN', 'OTHER'] },
  });
  const { servers, secrets } = read(at.codex, text.replace('enabled_tools = "read"', ''), env);
  expect(servers['my docs']).toEqual({
    url: 'https://docs.test/mcp',
    headers: { Authorization: 'Bearer hush', 'X-A': '${TOKEN}', 'X-B': 'quiet' },
    startTimeoutMs: 5000,
    timeoutMs: 500,
  });
  expect(secrets.get('Bearer hush')).toEqual(['hush']);
  const broken = parseMcpFile('a = 1\nkey = "hush', { file: at.codex, pointer: [] }, sources, () => true);
  expect(broken.problems).toEqual([expect.objectContaining({ line: 2, path: '(syntax)' })]);
  expect(JSON.stringify(broken)).not.toContain('hush');
});

test('Gemini connects to httpUrl before url and command; Cline writes its transport as an object and its times in seconds.', () => {
  const all = { httpUrl: 'https://a.test/mcp', url: 'https://a.test/sse', command: 'x' };
  const { servers, warnings } = read(at.gemini, { mcpServers: { a: all } });
  expect(servers.a).toEqual({ url: 'https://a.test/mcp' });
  expect(warnings).toEqual([
    "mcpServers.a.url: ignored: 'httpUrl' counts",
    "mcpServers.a.command: ignored: 'httpUrl' counts",
  ]);
  const transport = { type: 'streamableHttp', url: 'https://a.test/mcp' };
  expect(read(at.cline, { mcpServers: { a: { transport, timeout: 60 } } }).servers.a).toEqual({
    type: 'http',
    url: 'https://a.test/mcp',
    timeoutMs: 60_000,
  });
});

test.each([
  ['/x.json', { mcp_server: {} }, "unknown format; nearest: 'mcp_servers' (Codex)"],
  ['/x.json', { context_servers: {} }, "unknown format; nearest: 'mcpServers' (Claude Code"],
  [at.gemini, { mcp: { allowed: ['a'] } }, "holds no 'mcpServers', as Gemini CLI writes it"],
  [
    '/x.json',
    { mcp: { servers: {} } },
    "holds the servers under 'mcp', as older versions of VS Code do: name FILE#/mcp",
  ],
])('%s with %j has no servers that can be read.', (file, content, message) => {
  const path = { file, pointer: [] };
  const sources = { env: {}, readFile: () => '' };
  const { problems } = parseMcpFile(JSON.stringify(content), path, sources, () => true);
  expect(problems).toEqual([expect.objectContaining({ message: expect.stringContaining(message) })]);
});
