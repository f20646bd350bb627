import { execFile } from 'node:child_process';
import { access, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { delimiter, join } from 'node:path';
import { parseArgs, promisify } from 'node:util';
import { messageOf } from '@signalbox/protocol';
import { knownClients } from '@signalbox/worker/internal';
import { type AgentCli, agentClis } from '../support/clients/agent-clis.ts';
import { type ClientRecord, readRecords, writeRecord } from '../support/clients/client-record.ts';
import { clientsPage } from '../support/clients/clients-page.ts';
import { runDirectly } from '../support/clients/direct-record.ts';
import { tryGuide } from '../support/clients/guide-section.ts';
import { normalised } from '../support/clients/normalised.ts';
import { type ClientPlace, makePlace } from '../support/clients/run-client.ts';
import { acpPackages } from '../support/clients/served-agents.ts';
import { runThrough, startThrough } from '../support/clients/through-record.ts';
import { root } from '../support/packages/documented-programs.ts';
import { differencesOf } from '../support/servers/differences.ts';

/**
 * Runs the agent CLIs that are installed, compares what they do with the records, and does what the guide says for them. Exits with 1 if
 * something differs, if a CLI fails, or if none of those that are named is installed.
 */
const { values, positionals } = parseArgs({
  options: { install: { type: 'boolean', default: false }, record: { type: 'boolean', default: false } },
  allowPositionals: true,
});
const print = (line: string): void => void process.stdout.write(`${line}\n`);
const cache = join(root, 'node_modules/.cache/clients');
const execute = promisify(execFile);

const unknown = positionals.filter((name) => !agentClis.some((cli) => cli.name === name));
if (unknown.length > 0) {
  print(`unknown: ${unknown.join(', ')}. The CLIs are: ${agentClis.map(({ name }) => name).join(', ')}.`);
  process.exit(2);
}
const asked = agentClis.filter(({ name }) => positionals.length === 0 || positionals.includes(name));
if (values.install) {
  try {
    await install(asked);
  } catch (error) {
    print(`npm could not install them: ${messageOf(error)}`);
    process.exit(1);
  }
}
const path = process.env.PATH ?? '';
const installed = join(cache, 'node_modules/.bin');
process.env.PATH = (values.install ? [installed, path] : [path, installed]).join(delimiter);

const recorded = new Map((await readRecords()).map((record) => [record.client, record]));
const failures: string[] = [];
let ran = 0;
// Gemini CLI reads no settings below a folder in which others may write, such as /tmp.
const base = await mkdtemp(join(homedir(), '.signalbox-test-'));
const stopped = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM'] as const)
  process.once(signal, () => stopped.abort(new Error(`ended by ${signal}`)));
try {
  await using workspace = await startThrough();
  for (const cli of asked) {
    const began = performance.now();
    try {
      const version = await versionOf(cli);
      if (version === undefined) {
        print(`${cli.name}: skipped, because it is not on the PATH; --install installs ${cli.version}`);
        continue;
      }
      ran += 1;
      const [direct, through] = [await placeOf(cli, 'direct'), await placeOf(cli, 'through')];
      await compare({
        client: cli.name,
        package: cli.package,
        version,
        recorded: new Date().toISOString().slice(0, 10),
        direct: plain(await runDirectly(cli, direct), direct, version),
        through: plain(await runThrough(cli, through, workspace), through, version),
      });
      for (const problem of await tryGuide(cli, await placeOf(cli, 'guide'), workspace))
        failures.push(`${cli.name}, as docs/guide/clients.md says: ${problem}`);
    } catch (error) {
      failures.push(`${cli.name}: ${messageOf(error)}`);
    }
    print(`  in ${Math.round((performance.now() - began) / 1000)} s`);
    if (stopped.signal.aborted) break;
  }
} finally {
  await rm(base, { recursive: true, force: true });
}
if (ran === 0) failures.push('none of them is installed');
if (values.record)
  await writeFile(join(root, 'docs/clients.md'), clientsPage(await readRecords(), knownClients));
for (const failure of failures) print(failure);
process.exitCode = failures.length === 0 ? 0 : 1;

function placeOf({ name }: AgentCli, way: string): Promise<ClientPlace> {
  return makePlace(join(base, name, way), stopped.signal);
}

function plain<T>(value: T, { home, work, temporary }: ClientPlace, version: string): T {
  return normalised(value, { HOME: home, WORK: work, TMP: temporary }, version) as T;
}

async function compare(seen: ClientRecord): Promise<void> {
  const before = recorded.get(seen.client);
  const differences = differencesOf({ ...before, recorded: '' }, { ...seen, recorded: '' });
  const verdict = differences.length === 0 ? 'as recorded' : `differences: ${differences.length}`;
  print(`${seen.client} ${seen.version}: ${verdict}`);
  for (const { path: place, direct: was, through: is } of differences)
    print(
      `  ${place.join(' > ')}\n    recorded: ${JSON.stringify(was)}\n    seen:     ${JSON.stringify(is)}`,
    );
  if (values.record) await writeRecord(seen);
  else if (differences.length > 0)
    failures.push(`${seen.client} is not as recorded; --record writes its record anew`);
}

/** Returns the version that a CLI says it has, or `undefined` if it is not on the PATH. */
async function versionOf({ name }: AgentCli): Promise<string | undefined> {
  const { home } = await makePlace(join(base, 'version'), stopped.signal);
  const env = { HOME: home, PATH: process.env.PATH };
  try {
    const { stdout } = await execute(name, ['--version'], { env });
    return /\d+\.\d+\.\d+/.exec(stdout)?.[0] ?? stdout.trim();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

/** Installs the versions of the table. Some CLIs get their programs by a script of theirs; no other script is run. */
async function install(clis: readonly AgentCli[]): Promise<void> {
  await mkdir(cache, { recursive: true });
  const manifest = join(cache, 'package.json');
  await access(manifest).catch(() => writeFile(manifest, '{"name":"clients","private":true}\n'));
  const packages = [...clis.map((cli) => `${cli.package}@${cli.version}`), ...acpPackages(clis)];
  print(`npm installs in ${cache}:\n  ${packages.join('\n  ')}`);
  const npm = (...args: string[]) => execute('npm', [...args, '--loglevel=error'], { cwd: cache });
  await npm('install', '--no-audit', '--no-fund', '--ignore-scripts', ...packages);
  await npm('rebuild', '--ignore-scripts=false', ...clis.map((cli) => cli.package));
}
