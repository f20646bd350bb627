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
  asksPermissions: false,
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
  const { argv, files } = injectionFor(['claude', '-p'], { ...context, asksPermissions: true });
  const tool = 'mcp__signalbox__permission_prompt';
  expect(argv).toEqual(
    expect.arrayContaining([`--permission-prompt-tool=${tool}`, `--disallowedTools=${tool}`]),
  );
  const week = 7 * 24 * 60 * 60 * 1000;
  expect(JSON.parse(files[0]!.text).mcpServers.signalbox.timeout).toBeGreaterThan(week);
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
  const refused = [['codex'], ['./claude.sh'], ['claude', '-p', 'hi'], ['claude', '--settings=mine.json']];
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

test('codex’s values are TOML on one line that says the same, quotes and backslashes included', () => {
  const { argv } = injectionFor(['codex', 'exec'], context);
  const values = argv.filter((_, index) => argv[index - 1] === '-c');
  expect(values.every((value) => !value.includes('\n'))).toBe(true);
  expect(parse(values.join('\n'))).toMatchObject({
    mcp_servers: { signalbox: { ...faceCommand, required: true } },
  });
  expect(argv.at(-1)).toBe('exec');
});

test('opencode’s own configuration in the variable is kept, but for a server of our name', () => {
  const own = '{"model":"m", // why\n "mcp":{"mine":{"type":"local"},"signalbox":{"type":"old"}}}';
  const { env } = injectionFor(['opencode'], { ...context, env: { OPENCODE_CONFIG_CONTENT: own } });
  expect(JSON.parse(env.OPENCODE_CONFIG_CONTENT!)).toMatchObject({
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
  'opencode with %s in the variable is refused, by the name of the variable',
  (text) => {
    const env = { OPENCODE_CONFIG_CONTENT: text };
    expect(() => injectionFor(['opencode'], { ...context, env })).toThrow('OPENCODE_CONFIG_CONTENT');
  },
);

test('gemini is refused where somebody’s system settings would be lost, and allowed elsewhere', () => {
  const set = { ...context, env: { GEMINI_CLI_SYSTEM_SETTINGS_PATH: '/etc/mine.json' } };
  expect(() => injectionFor(['gemini'], set)).toThrow('GEMINI_CLI_SYSTEM_SETTINGS_PATH is set already');
  const managed = { ...context, systemSettings: '/etc/gemini-cli/settings.json' };
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
