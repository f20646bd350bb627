import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { countsIn, pageOf, type SuiteResult, type SuitesRun } from './results-page.ts';

const folder = 'test-results';
const help = `npm run test:all -- [NAME ...] [--list]
Runs suites one after the other, and writes ${folder}/README.md with what became of them, and the output of each beside it.
Without names it runs all of them, which takes some hours.
  --list    print the suites, and run none
`;

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    list: { type: 'boolean', default: false },
    help: { type: 'boolean', short: 'h', default: false },
  },
});
const suites = await suitesOf('package.json');
if (values.help) process.stdout.write(help);
else if (values.list)
  for (const { name, about } of suites.values()) process.stdout.write(`${name}: ${about}\n`);
else process.exitCode = (await runAll(chosen(positionals))) ? 0 : 1;

interface Suite {
  name: string;
  about: string;
}

/** Reads the suites of a package: the scripts whose names begin with `test` and that say first what they do. */
async function suitesOf(file: string): Promise<Map<string, Suite>> {
  const { scripts } = JSON.parse(await readFile(file, 'utf8')) as { scripts: Record<string, string> };
  const found = Object.entries(scripts).flatMap(([script, text]): Suite[] => {
    const said = text.match(/^echo '(test[\w:]*): ([^']*)'/);
    if (said?.[1] !== script || script === 'test:all') return [];
    return [{ name: script === 'test' ? 'test' : script.slice('test:'.length), about: said[2]! }];
  });
  return new Map(found.map((suite) => [suite.name, suite]));
}

function chosen(names: readonly string[]): Suite[] {
  const unknown = names.filter((name) => !suites.has(name));
  if (unknown.length > 0) {
    process.stderr.write(
      `no suite is named '${unknown.join("', '")}'; there are: ${[...suites.keys()].join(', ')}\n`,
    );
    process.exit(2);
  }
  return names.length > 0 ? names.map((name) => suites.get(name)!) : [...suites.values()];
}

/** Runs suites in turn. Returns false if one has failed. The page has what is known after each of them, so that a stop loses nothing. */
async function runAll(wanted: readonly Suite[]): Promise<boolean> {
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder);
  const commit = await outputOf('git', ['rev-parse', '--short', 'HEAD']);
  const run: SuitesRun = { at: new Date(), commit, node: process.version, results: [] };
  let isStopped = false;
  process.once('SIGINT', () => {
    isStopped = true;
  });
  for (const { name, about } of wanted) {
    if (isStopped) break;
    process.stdout.write(`${name}: ${about}\n`);
    const result = await runSuite(name);
    run.results.push(result);
    await writeFile(join(folder, 'README.md'), pageOf(run));
    process.stdout.write(`${name}: ${result.code === 0 ? 'passed' : `failed (exit ${result.code})`}\n`);
  }
  process.stdout.write(`\n${await readFile(join(folder, 'README.md'), 'utf8')}`);
  return !isStopped && run.results.every(({ code }) => code === 0);
}

async function runSuite(name: string): Promise<SuiteResult> {
  const began = performance.now();
  const script = name === 'test' ? name : `test:${name}`;
  const child = spawn('npm', ['run', script], { stdio: ['ignore', 'pipe', 'pipe'] });
  const log = createWriteStream(join(folder, `${name.replaceAll(':', '-')}.log`));
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => {
      log.write(text);
      // Counts stand at the end.
      output = (output + text).slice(-100_000);
    });
  const [code, signal] = (await once(child, 'close')) as [number | null, NodeJS.Signals | null];
  log.end();
  const seconds = (performance.now() - began) / 1000;
  return { name, code: code ?? signal ?? 'unknown', seconds, ...countsIn(output), tail: output };
}

async function outputOf(command: string, args: readonly string[]): Promise<string> {
  const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'ignore'] });
  const chunks: string[] = [];
  child.on('error', () => {});
  child.stdout.setEncoding('utf8').on('data', (text: string) => chunks.push(text));
  await once(child, 'close').catch(() => {});
  return chunks.join('').trim();
}
