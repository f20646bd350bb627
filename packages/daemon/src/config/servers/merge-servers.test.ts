// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the configuration's own syntax
import { mkdir, mkdtempDisposable, writeFile } from 'node:fs/promises';
import { homedir, tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { readConfig } from '../read-config.ts';

/** Writes files, and reads the first one. */
async function read(files: Record<string, string | object>) {
  await using directory = await mkdtempDisposable(join(tmpdir(), 'signalbox-config-'));
  for (const [name, content] of Object.entries(files)) {
    const path = join(directory.path, name);
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, typeof content === 'string' ? content : JSON.stringify(content));
  }
  const [first = ''] = Object.keys(files);
  const { path } = directory;
  const short = (text: string): string => text.replaceAll(path, 'HERE');
  try {
    const { mcpServers, leftOut, origins, warnings } = readConfig(join(path, first), { env: {} });
    const texts = JSON.stringify({ mcpServers, leftOut, origins, warnings });
    return { ...JSON.parse(short(texts)), problems: [] } as Read;
  } catch (error) {
    return {
      mcpServers: {},
      leftOut: [],
      origins: {},
      warnings: [],
      problems: short((error as Error).message).split('\n'),
    };
  }
}

interface Read {
  mcpServers: Record<string, Record<string, unknown>>;
  leftOut: string[];
  origins: Record<string, unknown>;
  warnings: string[];
  problems: string[];
}

test('An entry without command and url refines the imported server of its name: variables, headers and limits by name, other keys whole.', async () => {
  const { mcpServers, origins, problems } = await read({
    'signalbox.yaml': `mcpConfig: team/mcp.json
orchestrator: { limits: { perServer: { tools: 9 } } }
mcpServers:
  a: { share: worker, lazy: true, env: { B: "2", C: "3" }, cwd: ./work, limits: { tools: 5 } }
  b: { disabled: true, headers: { X: "1" } }`,
    'team/mcp.json': {
      mcpServers: {
        a: { command: './run', args: ['${instance}'], env: { A: '1', B: '1' }, limits: { toolBytes: 7 } },
        b: { url: 'https://b.test', headers: { Y: '2' } },
      },
    },
  });
  expect(problems).toEqual([]);
  expect(mcpServers).toEqual({
    a: {
      ...{ type: 'stdio', command: 'HERE/team/run', args: ['${instance}'], cwd: 'HERE/work' },
      ...{ env: { A: '1', B: '2', C: '3' }, share: 'worker', lazy: true, limits: { tools: 5, toolBytes: 7 } },
    },
    b: {
      ...{ type: 'http', url: 'https://b.test', headers: { Y: '2', X: '1' }, disabled: true },
      limits: { tools: 9 },
    },
  });
  expect(origins.a).toEqual({
    file: 'HERE/team/mcp.json',
    line: 1,
    replaces: [],
    refinedBy: 'HERE/signalbox.yaml',
  });
});

test('An entry that is left out stays out, also under a name that every object of JavaScript has.', async () => {
  const names = ['constructor', 'toString', 'hasOwnProperty'];
  const { mcpServers, leftOut, problems } = await read({
    'signalbox.yaml': 'mcpConfig: mcp.json',
    'mcp.json': {
      mcpServers: Object.fromEntries(names.map((name) => [name, { command: 'x', sandbox: {} }])),
    },
  });
  expect({ mcpServers, leftOut, problems }).toEqual({ mcpServers: {}, leftOut: names, problems: [] });
});

test('A refinement of a server that no file names is an error with the nearest name, and one that does not fit its server names the key.', async () => {
  const imported = { 'mcp.json': { mcpServers: { github: { url: 'https://g.test' } } } };
  const { problems } = await read({
    'signalbox.yaml':
      'mcpConfig: mcp.json\nmcpServers:\n  gihub: { lazy: true }\n  github: { env: { A: b } }',
    ...imported,
  });
  expect(problems).toEqual([
    "HERE/signalbox.yaml:3: mcpServers.gihub: needs 'command' or 'url': no file of mcpConfig has a server of this name whose settings it could refine (did you mean 'github'?)",
    'HERE/signalbox.yaml:4: mcpServers.github.env: does not belong to a http server',
  ]);
  expect((await read({ 'signalbox.yaml': 'mcpServers:\n  a: { lazy: true }' })).problems).toEqual([
    "HERE/signalbox.yaml:2: mcpServers.a: needs 'command' or 'url'",
  ]);
});

test('A refinement whose server another client has taken out of its file, or may have, is left out with a warning.', async () => {
  const own =
    'mcpConfig: [mcp.json, more.json]\nmcpServers:\n  gihub: { disabled: true }\n  other: { lazy: true }';
  const github = { mcpServers: { github: { url: 'https://g.test' } } };
  const whole = await read({ 'signalbox.yaml': own, 'mcp.json': github, 'more.json': { mcpServers: {} } });
  expect(whole.problems).toEqual([expect.stringContaining("(did you mean 'github'?)")]);
  const half = await read({ 'signalbox.yaml': own, 'mcp.json': github, 'more.json': '{ "mcpServers": {' });
  expect(half).toMatchObject({ problems: [], leftOut: ['gihub', 'other'] });
  expect(half.warnings.slice(1)).toEqual([
    'HERE/signalbox.yaml:3: mcpServers.gihub: no file of mcpConfig has a server of this name now; this server is left out',
    'HERE/signalbox.yaml:4: mcpServers.other: no file of mcpConfig has a server of this name now; this server is left out',
  ]);
});

test('An imported server that cannot be used is left out with a warning of file and line, and so is its refinement; an own one is an error.', async () => {
  const { mcpServers, leftOut, warnings, problems } = await read({
    'signalbox.yaml':
      'mcpConfig: mcp.json\nmcpServers: { bad: { lazy: true }, files_: { command: x }, kept: { share: role } }',
    'mcp.json': `{ "mcpServers": {
      "bad": { "command": "x", "env": { "K": "\${NONE}" } },
      "us": { "command": "signalbox", "args": ["worker", "mcp"] },
      "shared": { "command": "x", "args": ["\${instance}"] },
      "kept": { "command": "x", "args": ["\${instance}"] },
      "Files": { "command": "x" } } }`,
  });
  expect(problems).toEqual([]);
  expect(Object.keys(mcpServers)).toEqual(['kept', 'files_']);
  expect(leftOut).toEqual(['bad', 'us', 'shared', 'Files']);
  expect(warnings).toEqual([
    'HERE/mcp.json:2: mcpServers.bad.env.K: ${NONE}: the environment variable NONE is not set; this server is left out',
    'HERE/mcp.json:3: mcpServers.us: is Signalbox itself (worker mcp), whose tools would come back as new ones, again and again; this server is left out',
    'HERE/mcp.json:4: mcpServers.shared: ${instance} stands for a role or worker; set share: role or share: worker, or leave it out; this server is left out',
    expect.stringMatching(/^HERE\/mcp\.json:6: mcpServers\.Files: .*would match tools of.*left out$/),
  ]);
  const own = await read({
    'signalbox.yaml': `mcpServers:
  us: { command: npx, args: [signalbox, worker, mcp] }
  face: { url: "https://a.test", headers: { Authorization: "Bearer \${env:SIGNALBOX_TOKEN}" } }`,
  });
  expect(own.problems).toEqual([
    expect.stringContaining('signalbox.yaml:2: mcpServers.us: is Signalbox itself'),
    expect.stringContaining('signalbox.yaml:3: mcpServers.face: is Signalbox itself'),
    expect.stringContaining('SIGNALBOX_TOKEN is not set'),
  ]);
  const shared = await read({ 'signalbox.yaml': 'mcpServers:\n  a: { command: x, cwd: "./${instance}" }' });
  expect(shared.problems).toEqual([expect.stringContaining('signalbox.yaml:2: mcpServers.a: ${instance}')]);
  const asking = (share: string) =>
    read({ 'signalbox.yaml': `mcpServers:\n  a: { command: x, questions: [roots], share: ${share} }` });
  expect((await asking('role')).problems).toEqual([
    expect.stringContaining('signalbox.yaml:2: mcpServers.a: questions: roots of one client'),
  ]);
  expect((await asking('worker')).problems).toEqual([]);
});

test('A server works in the directory of the file that names it, and in the folder around one of settings.', async () => {
  const servers = { servers: { b: { command: '${workspaceFolder}/b', args: ['${userHome}'] } } };
  const { mcpServers } = await read({
    'signalbox.yaml': `mcpConfig: [project/.vscode/mcp.json, project/.mcp.json]
mcpServers: { own: { command: x }, sub: { command: x, cwd: sub }, data: { command: x, cwd: "\${data}/a" } }`,
    'project/.vscode/mcp.json': servers,
    'project/.mcp.json': { mcpServers: { c: { command: './c' }, d: { command: './d', cwd: 'd' } } },
  });
  expect(mcpServers).toMatchObject({
    own: { cwd: 'HERE' },
    sub: { cwd: 'HERE/sub' },
    data: { cwd: '${data}/a' },
    b: { command: 'HERE/project/b', args: [homedir()], cwd: 'HERE/project' },
    c: { command: 'HERE/project/c', cwd: 'HERE/project' },
    d: { command: './d', cwd: 'HERE/project/d' },
  });
});
