import { execFileSync } from 'node:child_process';
import { existsSync, lstatSync, mkdirSync, readlinkSync, rmSync, symlinkSync } from 'node:fs';
import { homedir } from 'node:os';
import { delimiter, dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

/**
 * Makes this checkout the `signalbox` of the user's shell, by a link in a folder on PATH, or removes that link:
 *   node scripts/link.mjs [--to DIR]      node scripts/link.mjs --remove [--to DIR]
 * Nothing is installed from a registry, and neither root nor npm's global folder is needed.
 */
const checkout = fileURLToPath(new URL('..', import.meta.url)).replace(/\/$/, '');
const program = join(checkout, 'apps/cli/bin/signalbox');

try {
  const { values } = parseArgs({ options: { to: { type: 'string' }, remove: { type: 'boolean' } } });
  const to = resolve(process.env.INIT_CWD ?? '', values.to ?? join(homedir(), '.local/bin'));
  process.stdout.write(`${(values.remove ? unlink : link)(to, shellPath()).join('\n')}\n`);
} catch (error) {
  process.stderr.write(`${error.message}\n`);
  process.exitCode = 1;
}

function link(to, path) {
  const version = versionOf(path);
  const file = join(to, 'signalbox');
  const found = leadsTo(file);
  if (found !== undefined && !found.endsWith('/apps/cli/bin/signalbox')) throw foreign(file);
  try {
    mkdirSync(to, { recursive: true });
    rmSync(file, { force: true });
    symlinkSync(program, file);
  } catch (error) {
    throw new Error(
      `${file} can't be written: ${error.message}\nLink into another folder on your PATH: npm run link -- --to DIR`,
    );
  }
  const done = `${file} now starts signalbox ${version} from ${checkout}`;
  return found === undefined || found === program
    ? [done, ...pathNotes(to, path)]
    : [`${done}; it started ${found} before`, ...pathNotes(to, path)];
}

function unlink(to) {
  const file = join(to, 'signalbox');
  const found = leadsTo(file);
  if (found === undefined) return [`There is no ${file}: nothing to remove`];
  if (found !== program) throw foreign(file);
  rmSync(file);
  return [`${file} is removed; ${checkout} stays as it is`];
}

/** Returns notes for the user: another program that the shell finds first, or the change of PATH that is missing. */
function pathNotes(to, path) {
  const first = path.map((folder) => join(folder, 'signalbox')).find((file) => existsSync(file));
  if (first === join(to, 'signalbox')) return ['Try: signalbox --help'];
  if (first !== undefined) {
    return [
      `Your shell finds ${first} first: remove that one, or put ${to} before ${dirname(first)} on PATH`,
    ];
  }
  return [
    `${to} is not on your PATH, so your shell doesn't find signalbox yet. Run this, and add it to ~/.profile:`,
    `  export PATH="${to.replace(/["\\$`]/g, '\\$&')}:$PATH"`,
    'Or link into a folder that is on your PATH: npm run link -- --to DIR',
  ];
}

/** Runs the target of the link as the user's shell would, so that a link that can't work is never made. */
function versionOf(path) {
  const env = { ...process.env, PATH: path.join(delimiter) };
  try {
    return execFileSync(program, ['--version'], {
      env,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'pipe'],
    }).trim();
  } catch (error) {
    throw new Error(error.stderr?.trim() || `${program} doesn't start: ${error.message}`);
  }
}

/** Returns the folders of PATH without those that npm puts before it for its scripts. */
function shellPath() {
  const isOfNpm = /\/node_modules\/\.bin$|\/node-gyp-bin$/;
  return (process.env.PATH ?? '').split(delimiter).filter((folder) => folder !== '' && !isOfNpm.test(folder));
}

/** Returns where a link leads, '' for something else than a link, and undefined for nothing. */
function leadsTo(file) {
  const stats = lstatSync(file, { throwIfNoEntry: false });
  if (stats === undefined) return undefined;
  return stats.isSymbolicLink() ? resolve(dirname(file), readlinkSync(file)) : '';
}

function foreign(file) {
  return new Error(
    `${file} exists and is no link to this checkout's signalbox, so it is left alone\n` +
      'Move it away, or use another folder on your PATH: --to DIR',
  );
}
