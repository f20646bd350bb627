import { existsSync, type Stats, statSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { isAbsolute, resolve } from 'node:path';
import { checkConfigText } from '@signalbox/daemon/config';
import {
  configFileNames,
  findConfig,
  parseImportPath,
  withExposureChecked,
} from '@signalbox/daemon/config/internal';
import { dataDirectory } from '@signalbox/daemon/data-directory';
import { messageOf, SignalboxError } from '@signalbox/protocol';
import { errnoOf } from '@signalbox/protocol/internal';
import { count, linesOf, oneLine, printJson, printLines, printNotes } from '../terminal/output.ts';
import { chooseFiles } from './choose-files.ts';
import { type ClientFile, clientFiles } from './client-files.ts';
import { configText } from './config-text.ts';
import { ignoreTokens } from './ignore-tokens.ts';
import { sortFiles, type UsableFile } from './usable-files.ts';

/** The options of `signalbox init`. */
export interface InitFlags {
  /** Uses all files that are found, unasked. */
  yes?: boolean;
  /** Uses these files, and looks for no others. */
  from?: string[];
  /** False: uses no file. */
  import: boolean;
  json?: boolean;
}

const file = 'signalbox.yaml';

/** Writes a first configuration into the working directory. Never replaces one. */
export async function init(flags: InitFlags): Promise<void> {
  refuseExisting();
  for (const path of flags.from ?? []) refuseMissing(path);
  const { usable, unusable } = await sortFiles(candidates(flags), file);
  const [broken] = unusable;
  if (flags.from && broken) throw unusableFile(broken.path, broken.problem);
  const files = await chosen(usable, flags);
  const text = configText(files);
  const config = await checkConfigText(text, file);
  const above = configAbove();
  await writeNew(text);
  const gitignore = await ignoreTokens('.gitignore');
  const servers = Object.keys(config.mcpServers);
  const obstacle = obstacleOf(() =>
    withExposureChecked(config, { dataDir: dataDirectory(undefined, config) }),
  );
  const warnings = [
    ...unusable.map(({ path, problem }) => `${path} is not used: ${problem}`),
    ...config.warnings,
    ...(above === undefined ? [] : [`commands in this folder used ${above} until now`]),
    ...(obstacle === undefined ? [] : [`signalbox up will refuse this: ${obstacle}`]),
  ];
  if (flags.json) {
    printJson({ file, mcpConfig: files.map(({ path }) => path), servers, gitignore, warnings });
    return;
  }
  printLines(
    `wrote ${file}: ${servers.length > 0 ? `${count(servers.length, 'MCP server')} (${servers.join(', ')})` : 'no MCP servers yet'}, roles developer and reader`,
    ...(gitignore === 'unchanged'
      ? []
      : [`${gitignore === 'written' ? 'wrote' : 'extended'} .gitignore, so that no token file is committed`]),
    '',
    'Next: look at the file, then start everything',
    '  signalbox up',
  );
  for (const warning of warnings) printNotes(...linesOf(`warning: ${warning}`));
}

function refuseExisting(): void {
  const existing = configFileNames.find((name) => existsSync(name));
  if (existing === undefined) return;
  throw new SignalboxError('usage', `${existing} exists already, and init replaces nothing`, {
    details: { hint: `check it with: signalbox config check   (or move it away to begin anew)` },
  });
}

/** Throws if a path of `--from` names no file. The reader of the file says what else is wrong with it. */
function refuseMissing(path: string): void {
  const named = resolve(parseImportPath(path).file);
  let found: Stats | undefined;
  try {
    found = statSync(named, { throwIfNoEntry: false });
  } catch {
    return;
  }
  if (found && !found.isDirectory()) return;
  const problem = found ? `${named} is a folder` : `there is no file ${named}`;
  throw new SignalboxError('usage', `--from ${path} cannot be used: ${problem}`, {
    details: { hint: 'name the file; without --from, init looks for the files of other clients itself' },
  });
}

function candidates({ from, import: isImporting }: InitFlags): ClientFile[] {
  if (!isImporting) return [];
  return (
    from?.map((path) => ({ client: 'named', path: written(path) })) ??
    clientFiles({ cwd: process.cwd(), home: homedir() })
  );
}

/** Writes a path so that it reads as one in a configuration. */
function written(path: string): string {
  return isAbsolute(path) || /^\.{1,2}\//.test(path) ? path : `./${path}`;
}

/** Returns the files to use: those that the options name, or that a person chooses. */
async function chosen(usable: UsableFile[], { yes, from, json }: InitFlags): Promise<UsableFile[]> {
  if (yes || from || usable.length === 0) return usable;
  if (!json && process.stdin.isTTY && process.stderr.isTTY) return await chooseFiles(usable);
  const found = usable.map(({ path, client, servers }) => ({ path, client, servers }));
  const lines = found.map(
    ({ path, client, servers }) => `${path} (${client}): ${oneLine(servers.join(', '), 80)}`,
  );
  throw new SignalboxError(
    'usage',
    `other clients have MCP servers here, and init can't ask which to use without a terminal: ${lines.join('; ')}`,
    {
      details: { found, hint: 'use all with --yes, some with --from FILE, none with --no-import' },
    },
  );
}

async function writeNew(text: string): Promise<void> {
  try {
    // Others may read it, as any source file; nobody else may write it.
    await writeFile(file, text, { flag: 'wx', mode: 0o644 });
  } catch (cause) {
    if (errnoOf(cause) === 'EEXIST') refuseExisting();
    throw new SignalboxError('usage', `${file} could not be written: ${messageOf(cause)}`, { cause });
  }
}

/** Says what keeps `up` from starting with a configuration that can be read. */
function obstacleOf(check: () => unknown): string | undefined {
  try {
    check();
    return undefined;
  } catch (error) {
    return messageOf(error);
  }
}

/** Returns the configuration above this directory that commands here use until there is one. */
function configAbove(): string | undefined {
  try {
    return findConfig(undefined, { env: {} })?.file;
  } catch {
    return undefined;
  }
}

function unusableFile(path: string, problem: string): SignalboxError {
  return new SignalboxError('usage', `${path} cannot be used: ${problem}`);
}
