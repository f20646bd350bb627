import { parse } from 'smol-toml';
import { expect, test } from 'vitest';
import type { InjectionContext } from './injection.ts';
import { injectionFor } from './injection-table.ts';
import { refuseUnwakeable } from './wake.ts';

const faceCommand = {
  command: '/opt/node',
  args: ['/opt/a "b" \\c', 'worker', 'mcp'],
  env: { SIGNALBOX_AGENT: 'rosa' },
};
const context: InjectionContext = {
  faceCommand,
  runDirectory: '/run/x',
  cwd: '/project',
  env: {},
  keepMcp: false,
  isTurn: false,
  asksClient: false,
  approveWorkspaceServers: false,
};

test('claude’s options hold their values with "=", before everything that was given', () => {
  const { argv, files } = injectionFor(['/usr/bin/claude', '-p', 'hi'], context);
  expect(argv).toEqual([
    '/usr/bin/claude',
    '--mcp-config=/run/x/mcp.json',
    '--allowedTools=mcp__signalbox',
    '--strict-mcp-config',
    '-p',
    'hi',
  ]);
  expect(files.map(({ path }) => path)).toEqual(['/run/x/mcp.json']);
  expect(JSON.parse(files[0]!.text)).toEqual({
    mcpServers: { signalbox: { type: 'stdio', ...faceCommand, alwaysLoad: true } },
  });
});

test('claude keeps its own servers only if that is asked for', () => {
  const strict = (keepMcp: boolean) =>
    injectionFor(['claude'], { ...context, keepMcp }).argv.includes('--strict-mcp-config');
  expect([strict(false), strict(true)]).toEqual([true, false]);
});

test('claude asks our tool for permissions if it is to, hides it from every model, and waits longer than a question does', () => {
  const { argv, files } = injectionFor(['claude', '-p'], { ...context, settingsToAsk: {} });
  const tool = 'mcp__signalbox__permission_prompt';
  expect(argv).toEqual(
    expect.arrayContaining([`--permission-prompt-tool=${tool}`, `--disallowedTools=${tool}`]),
  );
  const week = 7 * 24 * 60 * 60 * 1000;
  expect(JSON.parse(files[0]!.text).mcpServers.signalbox.timeout).toBeGreaterThan(week);
});

test('claude’s modes that ask nobody are closed for it and its subagents, also if it has settings of the command line', () => {
  const closed = { disableAutoMode: 'disable', disableBypassPermissionsMode: 'disable' };
  const settingsToAsk = { env: { A: '1' }, permissions: { allow: ['Read'], disableAutoMode: 'no' } };
  const given = { ...context, mailHook: 'x', settingsToAsk };
  const words = ['--settings', 'own.json', '--permission-mode', 'plan', 'a prompt'];
  const { argv, files } = injectionFor(['claude', '-p', ...words], given);
  expect(argv.filter((word) => word.startsWith('--settings') || word === 'own.json')).toEqual([
    '--settings=/run/x/settings.json',
  ]);
  expect(argv.filter((word) => word.startsWith('--permission-mode'))).toEqual([
    '--permission-mode=plan',
    '--permission-mode',
  ]);
  expect(argv.at(-1)).toBe('a prompt');
  expect(JSON.parse(files.at(-1)!.text)).toEqual({
    env: { A: '1' },
    permissions: { allow: ['Read'], ...closed },
  });
  const alone = injectionFor(['claude', '-p'], { ...context, settingsToAsk: {} });
  expect(JSON.parse(alone.files.at(-1)!.text)).toEqual({ permissions: closed });
});

test('claude’s hooks come in settings of the run, unless it is given settings or is to have no hooks', () => {
  const hooked = { ...context, mailHook: "'/opt/node' mail-hook" };
  const { argv, files } = injectionFor(['claude', '-p', 'hi'], hooked);
  expect(argv).toContain('--settings=/run/x/settings.json');
  const hook = { type: 'command', command: hooked.mailHook, timeout: 2 };
  expect(JSON.parse(files.find(({ path }) => path === '/run/x/settings.json')!.text)).toEqual({
    hooks: { UserPromptSubmit: [{ hooks: [hook] }], Stop: [{ hooks: [hook] }] },
  });
  const without = (words: string[], given: InjectionContext) => {
    const { files, notes } = injectionFor(['claude', ...words], given);
    return { files: files.map(({ path }) => path), saysSo: notes.some((note) => note.includes('no hook')) };
  };
  const plain = ['/run/x/mcp.json'];
  expect(without(['--settings', 'mine.json'], hooked)).toEqual({ files: plain, saysSo: true });
  expect(without(['--settings={}'], hooked)).toEqual({ files: plain, saysSo: true });
  expect(without([], context)).toEqual({ files: plain, saysSo: false });
});

test('claude is woken by hooks that run beside it, from its start and from the end of each turn on', () => {
  const hooksOf = (given: Partial<InjectionContext>) =>
    JSON.parse(injectionFor(['claude'], { ...context, ...given }).files.at(-1)!.text).hooks;
  const wake = { hooks: [{ type: 'command', command: 'wake', timeout: 2_073_600, asyncRewake: true }] };
  expect(hooksOf({ wakeHook: 'wake' })).toEqual({ SessionStart: [wake], Stop: [wake] });
  const mail = { hooks: [{ type: 'command', command: 'mail', timeout: 2 }] };
  expect(hooksOf({ wakeHook: 'wake', mailHook: 'mail' })).toEqual({
    SessionStart: [wake],
    UserPromptSubmit: [mail],
    Stop: [mail, wake],
  });
});

test('only an interactive claude without settings of its own can be woken', () => {
  refuseUnwakeable(['/usr/bin/claude', '--model', 'opus']);
  const refused = [
    ['codex'],
    ['copilot'],
    ['qwen'],
    ['kilo'],
    ['cline'],
    ['./claude.sh'],
    ['claude', '-p', 'hi'],
    ['claude', '--settings=mine.json'],
  ];
  const usage = expect.objectContaining({
    code: 'usage',
    message: expect.stringMatching(/^--wake: .*claude/),
  });
  for (const argv of refused) expect(() => refuseUnwakeable(argv), argv.join(' ')).toThrow(usage);
});

test('gemini’s hooks stand beside our server', () => {
  const { files } = injectionFor(['gemini'], { ...context, mailHook: 'x mail-hook' });
  const hook = { type: 'command', name: 'signalbox-mail', command: 'x mail-hook', timeout: 2000 };
  expect(JSON.parse(files[0]!.text).hooks).toEqual({
    BeforeAgent: [{ hooks: [hook] }],
    AfterAgent: [{ hooks: [hook] }],
  });
  expect(JSON.parse(injectionFor(['gemini'], context).files[0]!.text)).not.toHaveProperty('hooks');
});

test('copilot’s server stands in a file, its hooks in a plugin beside it, and neither hides what was given', () => {
  const hooked = { ...context, mailHook: "'/opt/node' mail-hook" };
  const { argv, env, files } = injectionFor(['copilot', '-p', 'hi', '--plugin-dir=mine'], hooked);
  expect(argv).toEqual([
    'copilot',
    '--additional-mcp-config=@/run/x/mcp.json',
    '--allow-tool=signalbox',
    '--plugin-dir=/run/x',
    '-p',
    'hi',
    '--plugin-dir=mine',
  ]);
  expect(env).toEqual({});
  const [server, plugin, hooks] = files.map(({ path, text }) => [path, JSON.parse(text)]);
  const entry = { type: 'local', ...faceCommand, tools: ['*'], timeout: 660_000 };
  expect(server).toEqual(['/run/x/mcp.json', { mcpServers: { signalbox: entry } }]);
  expect(plugin).toEqual(['/run/x/plugin.json', { name: 'signalbox-mail' }]);
  const hook = { type: 'command', command: `${hooked.mailHook} copilot`, timeout: 2 };
  expect(hooks).toEqual([
    '/run/x/hooks.json',
    { hooks: { UserPromptSubmit: [{ hooks: [hook] }], Stop: [{ hooks: [hook] }] } },
  ]);
  expect(injectionFor(['copilot'], context).argv).toEqual(argv.slice(0, 3));
});

test('qwen’s server is in a file that the command line names, its hooks in default settings unless there are some already', () => {
  const hooked = { ...context, mailHook: 'x mail-hook' };
  const { argv, env, files } = injectionFor(['qwen', 'hi'], hooked);
  expect(argv).toEqual(['qwen', '--mcp-config=/run/x/mcp.json', 'hi']);
  expect(env).toEqual({ QWEN_CODE_SYSTEM_DEFAULTS_PATH: '/run/x/settings.json' });
  const entry = { ...faceCommand, timeout: 660_000, alwaysLoadTools: true, trust: true };
  expect(JSON.parse(files[0]!.text)).toEqual({ mcpServers: { signalbox: entry } });
  const hook = { type: 'command', name: 'signalbox-mail', command: 'x mail-hook', timeout: 2 };
  expect(JSON.parse(files[1]!.text)).toEqual({
    hooks: { UserPromptSubmit: [{ hooks: [hook] }], Stop: [{ hooks: [hook] }] },
  });
  const own = { QWEN_CODE_SYSTEM_DEFAULTS_PATH: '/etc/mine.json' };
  const present = { qwen: '/etc/qwen-code/system-defaults.json' };
  const without = [{ ...hooked, env: own }, { ...hooked, systemSettings: present }, context];
  expect(
    without.map((given) => {
      const { env, files, notes } = injectionFor(['qwen'], given);
      return { env, files: files.length, saysSo: notes.some((note) => note.includes('no hook')) };
    }),
  ).toEqual([true, true, false].map((saysSo) => ({ env: {}, files: 1, saysSo })));
});

test('A turn of qwen does not wait for a model that refuses, or says why it may.', () => {
  const turn = { ...context, isTurn: true };
  const { env, files } = injectionFor(['qwen'], turn);
  expect(env).toEqual({ QWEN_CODE_SYSTEM_DEFAULTS_PATH: '/run/x/settings.json' });
  expect(JSON.parse(files[1]!.text)).toEqual({ model: { generationConfig: { maxRetries: 0 } } });
  const own = injectionFor(['qwen'], { ...turn, env: { QWEN_CODE_SYSTEM_DEFAULTS_PATH: '/etc/mine.json' } });
  expect(own.env).toEqual({});
  expect(own.notes).toContainEqual(expect.stringContaining('may wait long for a model that refuses'));
});

test.each([
  ['qwen with a file of MCP servers of its own', ['qwen', '--mcp-config=mine.json'], false, /--mcp-config/],
  ['cline that is to keep its MCP servers', ['cline', 'hi'], true, /^--keep-mcp: /],
])('%s is refused, by the name of the option', (_, argv, keepMcp, message) => {
  const usage = expect.objectContaining({ code: 'usage', message: expect.stringMatching(message) });
  expect(() => injectionFor(argv, { ...context, keepMcp })).toThrow(usage);
});

test('cline reads our file in place of its own, and keeps no process running', () => {
  const { argv, env, files } = injectionFor(['cline', 'do it'], context);
  expect({ argv, env }).toEqual({
    argv: ['cline', 'do it'],
    env: { CLINE_MCP_SETTINGS_PATH: '/run/x/mcp.json', CLINE_SESSION_BACKEND_MODE: 'local' },
  });
  expect(JSON.parse(files[0]!.text)).toEqual({ mcpServers: { signalbox: { ...faceCommand, timeout: 660 } } });
});

test('codex’s values are TOML on one line that says the same, quotes and backslashes included', () => {
  const { argv } = injectionFor(['codex', 'exec'], context);
  const values = argv.filter((_, index) => argv[index - 1] === '-c');
  expect(values.every((value) => !value.includes('\n'))).toBe(true);
  expect(parse(values.join('\n'))).toMatchObject({
    mcp_servers: { signalbox: { ...faceCommand, required: true } },
  });
  expect(argv.at(-1)).toBe('exec');
});

test.each([
  ['opencode', 'OPENCODE_CONFIG_CONTENT'],
  ['kilo', 'KILO_CONFIG_CONTENT'],
])('%s’s own configuration in the variable is kept, but for a server of our name', (program, variable) => {
  const own = '{"model":"m", // why\n "mcp":{"mine":{"type":"local"},"signalbox":{"type":"old"}}}';
  const { env } = injectionFor([program], { ...context, env: { [variable]: own } });
  expect(Object.keys(env)).toEqual([variable]);
  expect(JSON.parse(env[variable]!)).toMatchObject({
    model: 'm',
    mcp: {
      mine: { type: 'local' },
      signalbox: { type: 'local', command: [faceCommand.command, ...faceCommand.args] },
    },
  });
});

test.each([
  ['nothing', undefined, ['signalbox_*=allow']],
  ['one word for all', 'ask', ['*=ask', 'signalbox_*=allow']],
  [
    'rules in any order',
    { signalbox_signalbox_reply: 'deny', '*': 'ask' },
    ['*=ask', 'signalbox_*=allow', 'signalbox_signalbox_reply=deny'],
  ],
  ['a rule of the same name', { 'signalbox_*': 'ask' }, ['signalbox_*=ask']],
])(
  'opencode’s rules with %s allow our tools in the place where the last match is ours or the user’s narrower one',
  (_, permission, rules) => {
    const env = { OPENCODE_CONFIG_CONTENT: JSON.stringify({ permission }) };
    const injected = injectionFor(['opencode'], { ...context, env }).env.OPENCODE_CONFIG_CONTENT!;
    const merged = JSON.parse(injected).permission;
    expect(Object.entries(merged).map(([name, action]) => `${name}=${action}`)).toEqual(rules);
  },
);

test.each(['[1]', '{"mcp":[]}', '{"permission":[]}', '{'])(
  'opencode, or kilo, with %s in its variable is refused, by the name of the variable',
  (text) => {
    const env = { OPENCODE_CONFIG_CONTENT: text };
    expect(() => injectionFor(['opencode'], { ...context, env })).toThrow('OPENCODE_CONFIG_CONTENT');
    const kilos = { KILO_CONFIG_CONTENT: text };
    expect(() => injectionFor(['kilo'], { ...context, env: kilos })).toThrow('KILO_CONFIG_CONTENT');
  },
);

test('gemini is refused where somebody’s system settings would be lost, and allowed elsewhere', () => {
  const set = { ...context, env: { GEMINI_CLI_SYSTEM_SETTINGS_PATH: '/etc/mine.json' } };
  expect(() => injectionFor(['gemini'], set)).toThrow('GEMINI_CLI_SYSTEM_SETTINGS_PATH is set already');
  const managed = { ...context, systemSettings: { gemini: '/etc/gemini-cli/settings.json' } };
  expect(() => injectionFor(['gemini'], managed)).toThrow('/etc/gemini-cli/settings.json');
  expect(injectionFor(['gemini'], context).env).toEqual({
    GEMINI_CLI_SYSTEM_SETTINGS_PATH: '/run/x/settings.json',
  });
});

test.each<[string[], NodeJS.ProcessEnv, string[]]>([
  [[], {}, ['only in folders that it trusts']],
  [['-p', 'x', '--skip-trust'], {}, ['does not read the settings of this folder']],
  [['--', '--skip-trust'], {}, ['only in folders that it trusts']],
  [[], { GEMINI_CLI_TRUST_WORKSPACE: 'true' }, []],
])('gemini %j with %j is told what becomes of our server without trust', (words, env, said) => {
  const { notes } = injectionFor(['gemini', ...words], { ...context, env });
  expect(notes.slice(1)).toEqual(said.map((text) => expect.stringContaining(text)));
});

test('cursor-agent’s entry goes to the file of the working directory', () => {
  const { workspace, argv, files } = injectionFor(['cursor-agent', '-p', 'hi'], context);
  expect(workspace).toEqual({
    path: '/project/.cursor/mcp.json',
    keys: ['mcpServers', 'signalbox'],
    value: faceCommand,
  });
  expect(argv).toEqual(['cursor-agent', '-p', 'hi']);
  const approved = injectionFor(['cursor-agent', 'hi'], { ...context, approveWorkspaceServers: true });
  expect(approved.argv).toEqual(['cursor-agent', '--approve-mcps', 'hi']);
  expect(files).toEqual([]);
});

test('a program that is not known is started as it is, and that is said', () => {
  const { client, argv, env, files, notes } = injectionFor(['./my-agent', 'claude'], context);
  expect({ client, argv, env, files }).toEqual({
    client: 'other',
    argv: ['./my-agent', 'claude'],
    env: {},
    files: [],
  });
  expect(notes).toEqual([expect.stringContaining("'my-agent'")]);
});
