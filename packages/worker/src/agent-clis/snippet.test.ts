import { readFileSync } from 'node:fs';
import { parse } from 'smol-toml';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { clientSnippet, type FaceTarget, type SnippetClient, snippetClients } from './snippet.ts';

const keys: Partial<Record<SnippetClient, string>> = {
  codex: 'mcp_servers',
  opencode: 'mcp',
  kilo: 'mcp',
  vscode: 'servers',
};

/** The entry of our server in each client's own configuration. */
function entries(target: FaceTarget): Record<string, unknown> {
  return Object.fromEntries(
    snippetClients.map((client) => {
      const { format, text } = clientSnippet(client, target);
      const config = format === 'toml' ? parse(text) : JSON.parse(text);
      return [client, config[keys[client] ?? 'mcpServers'].signalbox];
    }),
  );
}

const faceCommand = {
  command: '/opt/node with space/bin/node',
  args: ['/opt/it\'s "quoted"/signalbox.js', 'worker', 'mcp'],
  env: { SIGNALBOX_TOKEN_FILE: '/home/rosa/rosa.token' },
};

test('each client is told to start the process in its own words', () => {
  const { command, args, env } = faceCommand;
  const opencode = {
    type: 'local',
    command: [command, ...args],
    environment: env,
    enabled: true,
    timeout: 20_000,
  };
  expect(entries({ faceCommand })).toEqual({
    claude: { type: 'stdio', ...faceCommand, alwaysLoad: true },
    codex: { ...faceCommand, startup_timeout_sec: 20, tool_timeout_sec: 660 },
    copilot: { type: 'local', ...faceCommand, tools: ['*'], timeout: 660_000 },
    opencode,
    kilo: opencode,
    gemini: { ...faceCommand, timeout: 660_000 },
    qwen: { ...faceCommand, timeout: 660_000, alwaysLoadTools: true },
    cline: { ...faceCommand, timeout: 660 },
    cursor: faceCommand,
    vscode: { type: 'stdio', ...faceCommand },
  });
});

test('each client is told the URL, and where the token is to be found, which is never in the file', () => {
  const url = 'http://127.0.0.1:7421/mcp';
  const bearer = (form: string) => ({ Authorization: `Bearer ${form}` });
  const variable = 'SIGNALBOX_TOKEN';
  const opencode = { type: 'remote', url, headers: bearer(`{env:${variable}}`), enabled: true };
  expect(entries({ url })).toEqual({
    claude: { type: 'http', url, headers: bearer(`\${${variable}}`), alwaysLoad: true },
    codex: { url, bearer_token_env_var: variable, tool_timeout_sec: 660 },
    copilot: { type: 'http', url, headers: bearer(`\${${variable}}`), tools: ['*'], timeout: 660_000 },
    opencode,
    kilo: opencode,
    gemini: { httpUrl: url, headers: bearer(`\${${variable}}`), timeout: 660_000 },
    qwen: { httpUrl: url, headers: bearer(`\${${variable}}`), timeout: 660_000, alwaysLoadTools: true },
    cline: { type: 'streamableHttp', url, headers: bearer('TOKEN'), timeout: 660 },
    cursor: { url, headers: bearer(`\${env:${variable}}`) },
    vscode: { type: 'http', url, headers: bearer(`\${${'input:signalbox-token'}}`) },
  });
  // A token file has a second line, which would spoil the header.
  for (const client of snippetClients.filter((one) => one !== 'vscode'))
    expect(clientSnippet(client, { url }).notes.join('\n')).toMatch(
      /head -n 1 rosa\.token|the first line of its file/,
    );
  const { inputs } = JSON.parse(clientSnippet('vscode', { url }).text);
  expect(inputs).toMatchObject([{ id: 'signalbox-token', type: 'promptString', password: true }]);
});

test('each snippet says which file it is for', () => {
  expect(snippetClients.map((client) => clientSnippet(client, { faceCommand }).file)).toEqual([
    '.mcp.json',
    '~/.codex/config.toml',
    '~/.copilot/mcp-config.json',
    'opencode.json',
    'kilo.json',
    '.gemini/settings.json',
    '~/.qwen/settings.json',
    '~/.cline/data/settings/cline_mcp_settings.json',
    '.cursor/mcp.json',
    '.vscode/mcp.json',
  ]);
  // There the file of a project may hold no variable.
  const url = 'http://127.0.0.1:7421/mcp';
  expect(clientSnippet('kilo', { url }).file).toBe('~/.config/kilo/kilo.json');
});

test('the settings that let a client call our tools without asking are printed on request only, for each client', () => {
  const url = 'http://127.0.0.1:7421/mcp';
  const everything = (client: SnippetClient, allow: boolean) => {
    const { format, text, permissions } = clientSnippet(client, { url }, { allow });
    const parsed = format === 'toml' ? parse(text) : JSON.parse(text);
    return {
      entry: parsed,
      ...Object.fromEntries(permissions.map((one) => [one.file, JSON.parse(one.text)])),
    };
  };
  expect(snippetClients.map((client) => Object.keys(everything(client, false)))).toEqual(
    snippetClients.map(() => ['entry']),
  );
  const asked = (client: SnippetClient) => JSON.stringify(everything(client, false));
  for (const word of ['permission', 'approv', 'trust', 'allow']) {
    expect(snippetClients.filter((client) => asked(client).includes(word))).toEqual([]);
  }
  expect(everything('claude', true)).toMatchObject({
    '.claude/settings.local.json': {
      enabledMcpjsonServers: ['signalbox'],
      permissions: { allow: ['mcp__signalbox'] },
    },
  });
  expect(everything('codex', true).entry.mcp_servers.signalbox.default_tools_approval_mode).toBe('approve');
  for (const client of ['opencode', 'kilo'] as const)
    expect(everything(client, true).entry.permission).toEqual({ 'signalbox_*': 'allow' });
  for (const client of ['gemini', 'qwen'] as const)
    expect(everything(client, true).entry.mcpServers.signalbox.trust).toBe(true);
  expect(everything('cursor', true)).toMatchObject({
    '~/.cursor/permissions.json': { mcpAllowlist: ['signalbox:*'] },
    '.cursor/cli.json': { permissions: { allow: ['Mcp(signalbox:*)'] } },
  });
});

test.each(snippetClients)(
  '%s’s notes say what happens without a person and how that is allowed',
  (client) => {
    const notes = (allow: boolean) => clientSnippet(client, { faceCommand }, { allow }).notes.join('\n');
    expect(notes(false)).toMatch(/asks before .*--allow prints/);
    expect(notes(true)).toContain('without asking a person');
    if (client === 'copilot') expect(notes(true)).toContain('--allow-tool=signalbox');
  },
);

test('the guide pastes each entry into the file that is named for it, and that of Cursor has the form of its documents', () => {
  const page = readFileSync(new URL('../../../../docs/guide/clients.md', import.meta.url), 'utf8');
  const pasted = [...page.matchAll(/^\$ signalbox worker config --client (\w+) .*>>? (\S+)$/gm)];
  expect(pasted.map(([, client]) => client)).toEqual(['codex', 'opencode', 'gemini', 'cursor']);
  for (const [, client, file] of pasted)
    expect(file).toBe(clientSnippet(client as SnippetClient, { faceCommand }).file);
  const entry = z.strictObject({
    type: z.literal('stdio').optional(),
    command: z.string(),
    args: z.array(z.string()).optional(),
    env: z.record(z.string(), z.string()).optional(),
    envFile: z.string().optional(),
  });
  const cursor = z.strictObject({ mcpServers: z.record(z.string(), entry) });
  const { text } = clientSnippet('cursor', { faceCommand });
  expect(cursor.parse(JSON.parse(text)).mcpServers).toEqual({ signalbox: faceCommand });
});
