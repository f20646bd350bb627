// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the configuration's own syntax
import {
  chmodSync,
  chownSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { readConfig } from '../read-config.ts';
import { exposesConfiguration, heldBy, withExposureChecked } from './exposures.ts';
import { writableByOthers } from './writable-by-others.ts';

/** A directory with a project, the data directory and a link to all of it. The configuration lies beside them, unless it is moved. */
let home: string;
let dataDir: string;

beforeAll(() => {
  home = mkdtempSync(join(tmpdir(), 'signalbox-exposed-'));
  dataDir = join(home, 'private', 'state');
  for (const path of ['private/state/auth', 'project/src', 'etc', 'capabilities']) {
    mkdirSync(join(home, path), { recursive: true });
  }
  writeFileSync(join(dataDir, 'operator.token'), '');
  symlinkSync(home, join(home, 'project', 'up'));
});
afterAll(() => rmSync(home, { recursive: true }));

function configOf(server: object, more: object = {}) {
  const file = join(home, 'etc', 'signalbox.yaml');
  const files = { command: 'serve', cwd: '..', ...server };
  writeFileSync(file, JSON.stringify({ mcpServers: { files }, ...more }));
  return readConfig(file);
}

function problemsOf(server: object): string[] {
  try {
    withExposureChecked(configOf(server), { dataDir });
    return [];
  } catch (error) {
    expect(error).toMatchObject({ code: 'exposed' });
    return (error as { details: { problems: string[] } }).details.problems;
  }
}

test('A variable that a server asks for names a directory like one of its own; those that every server gets do not count.', () => {
  vi.stubEnv('SERVICE_ROOT', home);
  vi.stubEnv('DOCKER_CONFIG', home);
  expect(problemsOf({ inheritEnv: ['OTHER_*'] })).toEqual([]);
  expect(problemsOf({ inheritEnv: ['SERVICE_*'] })).toEqual([
    expect.stringContaining(`mcpServers.files.inheritEnv.SERVICE_ROOT: ${home} holds the data directory`),
  ]);
});

test('A server that is given a directory around or in the data directory can reach it, however the path is written.', () => {
  const args = [
    home,
    '.',
    './',
    'private',
    'project/..',
    'project/up',
    'project/up/private/state/',
    './project/src/../../private',
    `--root=${home}`,
    '--allow=project,private',
    `--dirs=["${home}/project","${home}"]`,
    `-r${home}`,
    `${home}:/work`,
    `type=bind,source=${home},target=/work`,
    `file://${home}`,
    `--root=file://${home}/priv%61te`,
    `${home}/project:${home}`,
    `~/${relative(homedir(), home)}`,
    '/',
    join('private', 'state', 'operator.token'),
    './private/state/notes-that-come.json',
  ];
  const missed = args.filter((arg) => problemsOf({ args: ['-y', arg] }).length === 0);
  expect(missed).toEqual([]);
  expect(problemsOf({ args: ['.'], cwd: '../project/up' })).toHaveLength(1);
  expect(problemsOf({ args: ['..'], cwd: '../project' })).toHaveLength(1);
  expect(problemsOf({ env: { ALLOWED_DIRECTORIES: `${home}/project:${home}` } })).toHaveLength(1);
});

test('Patterns, lists, scripts of a shell and files that come later name a directory as well.', () => {
  const args = [
    './**',
    `--allow=${home}/**/*.json`,
    `${home}/*`,
    '/**',
    'private/state/notes-that-come.json',
    `${home}/project ${home}`,
    `${home}/project\n${home}`,
    `${home}/project|${home}`,
    `sqlite:///${dataDir}/messages.db`,
    '@./private',
  ];
  expect(args.filter((arg) => problemsOf({ args: [arg] }).length === 0)).toEqual([]);
  const scripts = [
    'exec npx -y server-filesystem .',
    `. ~/.nvm/nvm.sh && serve "${home}"`,
    'cd project; serve --root=..',
    'cd private && serve ./state',
    'cd private && cd state && (serve auth)',
    'serve $PWD',
    `serve $HOME/${relative(homedir(), home)}`,
  ];
  const missed = scripts.filter(
    (script) => problemsOf({ command: '/bin/bash', args: ['-lc', script] }).length === 0,
  );
  expect(missed).toEqual([]);
  expect(problemsOf({ command: 'env', args: ['A=b', 'sh', '-c', 'serve .'] })).toHaveLength(1);
});

test('No exposure is seen in URLs, media types, patterns without a directory, nor in where a script goes and what it sources.', () => {
  const args = [
    ...['redis://', 'postgres://u:p@db/x', 'https://*.example.test/', 'https://example.test/?next=/'],
    ...['*', '**', '*/*', 'text/*', 'project/**', './project/*.md', `Read ${home}/project and / or write.`],
  ];
  args.push('./notes-${instance}.json', './*.json', 'file:./notes.db?mode=ro', './[id]', '/*', '/api/*');
  expect(
    problemsOf({ args, share: 'worker', env: { URL: 'redis://', HOSTS: 'https://*.example.test' } }),
  ).toEqual([]);
  const scripts = [
    '. ./env.sh && exec serve project',
    `cd ${home} && exec serve ./project`,
    'serve https://a.test/',
  ];
  expect(scripts.flatMap((script) => problemsOf({ command: 'bash', args: ['-c', script] }))).toEqual([]);
});

test('What does not lead there is no exposure: other folders, options, programs, a working directory alone, a home.', () => {
  const args = [
    '-y',
    'serve',
    'project',
    './project/src',
    'https://example.test/',
    '--a=/tmp/x',
    'p',
    '',
    'a / b',
  ];
  expect(
    problemsOf({ args, cwd: '..', env: { HOME: home, TMPDIR: dataDir, LEVEL: 'private/none' } }),
  ).toEqual([]);
  expect(problemsOf({ args: [home], disabled: true })).toEqual([]);
});

test('A server may be given the folder of its own in the data directory, and nothing else there.', () => {
  const problems = (server: object) => problemsOf({ share: 'worker', ...server });
  const own = [
    '${data}',
    '${data}/notes-${instance}.json',
    '--db=${data}/a.db',
    `${dataDir}/servers/files/a`,
  ];
  expect(problems({ args: own, cwd: '${data}', env: { NOTES: '${data}/x' } })).toEqual([]);
  const others = [
    '${data}/..',
    '${data}/../../operator.token',
    `${dataDir}/servers`,
    `${dataDir}/servers/other`,
  ];
  const missed = others.filter((arg) => problems({ args: [arg] }).length === 0);
  expect(missed).toEqual([]);
  expect(problems({ args: ['../..'], cwd: '${data}' })).toHaveLength(1);
});

test('A problem names the place and never the value, which may hold a secret.', () => {
  const [problem] = problemsOf({ args: [`--token=hush,${home}/private`] });
  expect(problem).toBe(
    `${home}/etc/signalbox.yaml: mcpServers.files.args[0]: ${home}/private holds the data directory ${dataDir}, ` +
      "so anybody who may use the server can read the operator's token and act as the operator",
  );
});

test('What is allowed is a warning, and so is what a server could do to the configuration and to files that it names.', () => {
  const exposed = configOf({ args: [home] }, { capabilities: '../capabilities' });
  const { warnings } = withExposureChecked(exposed, { dataDir }, { allowExposed: true });
  expect(warnings).toEqual([
    expect.stringMatching(/^EXPOSED, as --allow-exposed allows: .* the data directory/),
    expect.stringContaining(
      `${home} holds the configuration ${home}/etc/signalbox.yaml and the configuration ${home}/capabilities, so`,
    ),
  ]);
  writeFileSync(join(home, 'project', 'secret'), 'value');
  const named = { env: { SECRET: '${file:../project/secret}' } };
  expect(exposesConfiguration(configOf({ args: ['project'], ...named }))).toBe(true);
  expect(exposesConfiguration(configOf({ args: ['project/src'], ...named }))).toBe(false);
  const tokenFiles = [join(home, 'project', 'orchestrator.token')];
  const given = configOf({ args: ['project'] });
  expect(() => withExposureChecked(given, { dataDir, tokenFiles })).toThrow('the token file');
});

test('An agent has before it what lies in its working directory, and the data directory around it.', () => {
  const configFiles = [join(home, 'etc', 'signalbox.yaml')];
  const tokenFiles = [join(home, 'etc', 'ci.token')];
  expect(heldBy(join(home, 'project'), { dataDir, tokenFiles, configFiles })).toEqual([]);
  expect(heldBy(join(home, 'project', 'up'), { dataDir, tokenFiles, configFiles })).toEqual([
    `the data directory ${dataDir}`,
    `the token file ${tokenFiles[0]}`,
    `the configuration ${configFiles[0]}`,
  ]);
  expect(heldBy(join(dataDir, 'auth'), { dataDir })).toHaveLength(1);
});

test('A file can be changed by others if they may write to it or to a directory above it, or to that of a link to it.', () => {
  const folder = join(home, 'open');
  const file = join(folder, 'a.yaml');
  const link = join(home, 'etc', 'link.yaml');
  mkdirSync(folder);
  writeFileSync(file, '');
  symlinkSync(file, link);
  const member = { uid: process.getuid!(), gid: process.getuid!() + 1 };
  expect(writableByOthers(file)).toBeUndefined();
  for (const [path, mode, back] of [
    [file, 0o664, 0o644],
    [folder, 0o775, 0o755],
    [home, 0o777, 0o700],
  ] as const) {
    chmodSync(path, mode);
    expect(writableByOthers(file, member)).toContain(`${path} can be written by others`);
    expect(writableByOthers(link, member)).toContain(`${path} can be written by others`);
    chmodSync(path, back);
  }
  chmodSync(join(home, 'etc'), 0o777);
  expect([writableByOthers(file), writableByOthers(link)]).toEqual([
    undefined,
    expect.stringContaining('etc'),
  ]);
  // A link of another client's file to a device, or an envFile that is one, keeps no other file from being read again.
  expect(writableByOthers('/dev/null')).toBeUndefined();
  // In a sticky directory nobody can replace the file of somebody else.
  chmodSync(join(home, 'etc'), 0o1777);
  expect(writableByOthers(link)).toBeUndefined();
});

test('The group of a user alone is not others, and everybody is.', () => {
  const file = join(home, 'umask-002.yaml');
  writeFileSync(file, '');
  // Root gives the file to a group of its own; another user keeps its own.
  const gid = process.getuid!() === 0 ? 12_345 : process.getgid!();
  chownSync(file, process.getuid!(), gid);
  chmodSync(file, 0o664);
  const alone = { uid: gid, gid };
  expect(writableByOthers(file, { uid: process.getuid!(), gid: gid + 1 })).toContain(
    'can be written by others',
  );
  if (process.getuid!() === 0) expect(writableByOthers(file, alone)).toBeUndefined();
  chmodSync(file, 0o666);
  expect(writableByOthers(file, alone)).toContain('umask-002.yaml');
});

test('The first examples of the README and of the guide expose nothing, wherever they are put.', () => {
  writeFileSync(join(home, '.mcp.json'), '{"mcpServers":{}}');
  writeFileSync(join(home, 'docs.secret'), 'hush');
  writeFileSync(join(home, 'github.secret'), 'a secret of a webhook', { mode: 0o600 });
  for (const page of ['README.md', 'docs/guide/five-minutes.md', 'docs/guide/configuration.md']) {
    const text = readFileSync(new URL(`../../../../../${page}`, import.meta.url), 'utf8');
    const example = /```yaml\n([\s\S]*?)```/.exec(text)![1]!;
    const file = join(home, 'signalbox.yaml');
    writeFileSync(file, example);
    const read = readConfig(file);
    expect(Object.keys(read.mcpServers)).toContain('files');
    const state = read.broker.data ?? join(homedir(), '.local', 'state', 'signalbox');
    expect(withExposureChecked(read, { dataDir: state }).warnings).toEqual([]);
  }
});
