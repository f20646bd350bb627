import { lstatSync } from 'node:fs';
import { homedir } from 'node:os';
import { basename, isAbsolute, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { McpServerConfig } from '@signalbox/mcp-host';
import { requestedVariables } from '@signalbox/mcp-host/rules';
import { pathIn } from '../document/path-in.ts';
import { settledPath } from './settled-path.ts';

/** A path that an entry of `mcpServers` hands to its server. */
export interface GivenPath {
  /** The place in the entry, as in `args[2]` or `env.ROOT_DIR`. It never shows the value, which may hold a secret. */
  where: string;
  /** Absolute, without symbolic links. */
  path: string;
  /** False for a word that could be a path only by chance, as an option could: nothing has its name. */
  isPath: boolean;
  /** The directory where the path starts if it is relative, settled. */
  from: string;
}

/** Variables that tell a program where its user, its libraries or its temporary files are, and not what to serve. */
const harmlessVariables =
  /^(HOME|USERPROFILE|PWD|OLDPWD|PATH|NODE_PATH|PYTHONPATH|LD_LIBRARY_PATH|TMPDIR|TMP|TEMP|SHELL|XDG_.*|.*_HOME|npm_config_.*)$/i;

/**
 * Lists the paths that a server is given: by its arguments, also as `--root=DIR`, as a `file:` URL, as a pattern, in a list or in the
 * script of a shell, and by its variables. They are relative to its working directory. That directory alone does not count: no server
 * serves it without being told so in a way that this function could see. `${data}` stands for `dataFolder`, the server's own.
 */
export function givenPaths(server: McpServerConfig, dataFolder: string | undefined): GivenPath[] {
  if (server.type !== 'stdio') return [];
  const { command, args = [], env = {}, cwd = process.cwd() } = server;
  // biome-ignore lint/suspicious/noTemplateCurlyInString: the placeholder as people write it
  const filled = (text: string): string => text.replaceAll('${data}', (found) => dataFolder ?? found);
  const directory = filled(cwd);
  const script = scriptIndex(command, args);
  const isTelling = ([name]: [string, string]) => !harmlessVariables.test(name);
  const variables = Object.entries(env).filter(isTelling);
  const inherited = Object.entries(requestedVariables(server.inheritEnv)).filter(isTelling);
  const texts = [
    ...args.map((text, at) => ({ where: `args[${at}]`, text, isScript: at === script })),
    ...variables.map(([name, text]) => ({ where: `env.${name}`, text, isScript: false })),
    ...inherited.map(([name, text]) => ({ where: `inheritEnv.${name}`, text, isScript: false })),
  ];
  return texts.flatMap(({ where, text: written, isScript }) => {
    const text = filled(written)
      .replace(/\$(HOME\b|\{HOME\})/g, homedir)
      .replace(/\$(PWD\b|\{PWD\})/g, () => directory);
    const words = isScript ? scriptWords(text, directory) : [{ word: text, directory }];
    return words.flatMap((found) =>
      pathTexts(found.word).flatMap((word) =>
        settled(word, found.directory).map((given) => ({ where, ...given })),
      ),
    );
  });
}

/** Lists all that a text could name: itself, its file URLs, and the members of a list or of `NAME=PATH`. */
function pathTexts(text: string): string[] {
  const urls = [...text.matchAll(/file:\/\/[^\s,;"'\]]+/g)].flatMap(([url]) => fileOfUrl(url));
  const local = withoutHosts(text);
  const afterName = local.includes('=') ? [local.slice(local.indexOf('=') + 1)] : [];
  const attached = /^-[A-Za-z](?=.)/.test(text) ? [text.slice(2)] : [];
  const members = local
    .split(/[=,;:|\n]/)
    .flatMap(blankList)
    .map((part) => part.replace(/^[\s"'[{(@]+|[\s"'\]})]+$/g, ''));
  const words = [text, ...urls, ...afterName, ...attached, ...members];
  return [...new Set(words)].filter((word) => word !== '' && !word.includes('\0'));
}

/** Takes URLs out of a text, except the paths of those without a host, as in `sqlite:////path`. */
function withoutHosts(text: string): string {
  return text.replace(/\b[a-z][a-z0-9+.-]*:\/\/([^\s,;|"'\])}]*)/gi, (_, rest: string) =>
    /^\/./.test(rest) ? rest : '',
  );
}

/** Splits a list at its blanks if all its members are written as paths. A sentence and a path with blanks stay whole. */
function blankList(text: string): string[] {
  const members = text.trim().split(/\s+/);
  return members.every((member) => isWrittenAsPath(member)) ? members : [text];
}

function isWrittenAsPath(word: string): boolean {
  return /^(~|\/|\.{1,2}(\/|$))/.test(word);
}

function fileOfUrl(url: string): string[] {
  try {
    return [fileURLToPath(url)];
  } catch {
    return [];
  }
}

/**
 * Settles a path. `DIR/*` and `DIR/**` stand for the directory; `DIR/*.md` and `DIR/x-${instance}` match no directory in it.
 * The system follows a link before it goes up by `..`, and programs that tidy a path first do not, so both paths are listed.
 */
function settled(word: string, directory: string): Omit<GivenPath, 'where'>[] {
  const text = word.replace(/^~(?=$|\/)/, homedir).replace(everythingIn, '');
  const asWritten = isAbsolute(text) ? text : `${directory}/${text}`;
  const paths = new Set([settledPath(asWritten), settledPath(resolve(directory, text))]);
  const isPath = isWrittenAsPath(word) || exists(asWritten);
  return [...paths].map((path) => ({ path, isPath, from: settledPath(directory) }));
}

/** `/*` alone is more often a route of a web server than a pattern of files. */
const everythingIn = /(?:(?<=\/)\*\*|(?<=[^/]\/)\*)(\/.*)?$/s;

function exists(path: string): boolean {
  try {
    return lstatSync(path, { throwIfNoEntry: false }) !== undefined;
  } catch {
    return false;
  }
}

/** A word of a script, with the directory in which its command runs. */
interface ScriptWord {
  word: string;
  directory: string;
}

const shells = /^(sh|ash|bash|dash|fish|ksh|zsh)$/;

/** Finds the script in `bash -lc SCRIPT` and `env bash -c SCRIPT`; returns its index in `args`, or -1. */
function scriptIndex(command: string, args: readonly string[]): number {
  const programs = basename(command) === 'env' ? args : [command];
  if (!programs.some((program) => shells.test(basename(program)))) return -1;
  return args.findIndex((_, at) => /^-[a-z]*c$/.test(args[at - 1] ?? ''));
}

/**
 * Lists the words of a shell script that commands are given. `cd` changes the directory of what follows, and gives nothing;
 * `.` at the beginning of a command is the shell's own.
 */
function scriptWords(script: string, directory: string): ScriptWord[] {
  let current = directory;
  return script.split(/[;&|()\n]+/).flatMap((command) => {
    const [first = '', ...rest] = command.split(/[\s<>"'`]+/).filter((word) => word !== '');
    if (first === 'cd') {
      current = pathIn(current, rest[0] ?? '.');
      return [];
    }
    const words = first === '.' ? rest : [first, ...rest];
    return words.map((word) => ({ word, directory: current }));
  });
}
