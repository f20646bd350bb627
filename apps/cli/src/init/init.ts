import { existsSync, type Stats, statSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { dirname, isAbsolute, join, resolve, sep } from 'node:path';
import { checkConfigText } from '@signalbox/daemon/config';
import {
  configFileNames,
  exposedConfiguration,
  findConfig,
  importPathText,
  ownConfigDirectory,
  parseImportPath,
  repositoryOf,
  withExposureChecked,
} from '@signalbox/daemon/config/internal';
import { dataDirectory } from '@signalbox/daemon/data-directory';
import { messageOf, SignalboxError } from '@signalbox/protocol';
import { errnoOf } from '@signalbox/protocol/internal';
import { count, linesOf, oneLine, printJson, printLines, printNotes } from '../terminal/output.ts';
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

const fileName = 'signalbox.yaml';
const checkHint = 'check it with: signalbox config check   (or move it away to begin anew)';
const sharedHint =
  'all your git repositories use it: add the servers and roles of this one there, and check it with: signalbox config check';

/** The place of the new file. */
interface Place {
  /** Its name alone in the working directory; else an absolute path. */
  file: string;
  /** The git repository whose folders the file must not lie in, since agents work there. */
  repository?: string;
}

/** Writes a first configuration: into the working directory, or from a git repository as the user's own. Never replaces one. */
export async function init(flags: InitFlags): Promise<void> {
  refuseExisting('.');
  const above = configAbove();
  const place = placeOf(above);
  const { file, repository } = place;
  for (const path of flags.from ?? []) refuseMissing(path);
  const { usable, unusable } = await sortFiles(candidates(flags, place), file);
  const [broken] = unusable;
  if (flags.from && broken) throw unusableFile(broken.path, broken.problem);
  const files = await chosen(usable, flags);
  const text = configText(files, repository);
  const config = await checkConfigText(text, file);
  await writeNew(file, text);
  const gitignore = await ignoreTokens('.gitignore');
  const servers = Object.keys(config.mcpServers);
  const dataDir = dataDirectory(undefined, config);
  const obstacle = obstacleOf(() => withExposureChecked(config, { dataDir }));
  const warnings = [
    ...unusable.map(({ path, problem }) => `${path} is not used: ${problem}`),
    ...config.warnings,
    ...exposedConfiguration(config, dataDir),
    ...(repository === undefined && above !== undefined
      ? [`commands in this folder used ${above} until now`]
      : []),
    ...(repository === undefined
      ? []
      : files
          .filter(({ path }) => parseImportPath(path).file.startsWith(repository + sep))
          .map(
            ({ path }) =>
              `agents that work in this repository can change ${path}, and with it which servers are started; to prevent that, write these servers into ${file} and take the file out of mcpConfig`,
          )),
    ...(obstacle === undefined ? [] : [`signalbox up will refuse this: ${obstacle}`]),
  ];
  if (flags.json) {
    printJson({ file, mcp_config: files.map(({ path }) => path), servers, gitignore, warnings });
    return;
  }
  printLines(
    `wrote ${file}: ${servers.length > 0 ? `${count(servers.length, 'MCP server')} (${servers.join(', ')})` : 'no MCP servers yet'}, roles developer and reader`,
    ...(repository === undefined
      ? []
      : [
          `  It lies there because agents work in this git repository and could change it here. All folders without a signalbox.yaml use it.`,
        ]),
    ...(gitignore === 'unchanged'
      ? []
      : [`${gitignore === 'written' ? 'wrote' : 'extended'} .gitignore, so that no token file is committed`]),
    '',
    'Next: look at the file, then start everything',
    '  signalbox up',
  );
  for (const warning of warnings) printNotes(...linesOf(`warning: ${warning}`));
}

/** Decides where the new file goes. Throws `usage` if commands here would not read it, or if there is one already. */
function placeOf(above: string | undefined): Place {
  const repository = repositoryOf();
  if (repository === undefined) return { file: fileName };
  const directory = ownConfigDirectory();
  const file = join(directory, fileName);
  refuseExisting(directory, sharedHint);
  if (above === undefined) return { file, repository };
  throw new SignalboxError('usage', `commands in this folder use ${above}, and would not read ${file}`, {
    details: { hint: `add what is missing to ${above}   (or move it away to begin anew)` },
  });
}

function refuseExisting(directory: string, hint = checkHint): void {
  const existing = configFileNames.map((name) => join(directory, name)).find((path) => existsSync(path));
  if (existing === undefined) return;
  throw new SignalboxError('usage', `${existing} exists already, and init replaces nothing`, {
    details: { hint },
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

function candidates({ from, import: isImporting }: InitFlags, { file }: Place): ClientFile[] {
  if (!isImporting) return [];
  const found =
    from?.map((path) => ({ client: 'named', path })) ?? clientFiles({ cwd: process.cwd(), home: homedir() });
  return found.map(({ client, path }) => ({ client, path: written(path, file) }));
}

/** Writes a path so that it reads as one in the configuration `file`. */
function written(path: string, file: string): string {
  if (path.startsWith('~/')) return path;
  if (isAbsolute(file)) {
    const { file: named, pointer } = parseImportPath(path);
    return importPathText({ file: resolve(named), pointer });
  }
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

async function writeNew(file: string, text: string): Promise<void> {
  try {
    if (isAbsolute(file)) await mkdir(dirname(file), { recursive: true, mode: 0o700 });
    // Others may read it, as any source file; nobody else may write it.
    await writeFile(file, text, { flag: 'wx', mode: 0o644 });
  } catch (cause) {
    if (errnoOf(cause) === 'EEXIST') refuseExisting(dirname(file));
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

/** Returns the configuration that commands in this directory use until it has one of its own. */
function configAbove(): string | undefined {
  try {
    return findConfig(undefined, { env: { ...process.env, SIGNALBOX_CONFIG: '' } })?.file;
  } catch {
    return undefined;
  }
}

function unusableFile(path: string, problem: string): SignalboxError {
  return new SignalboxError('usage', `${path} cannot be used: ${problem}`);
}

/** Asks on the terminal which files to use; all are chosen at first. Rejects with `cancelled` if the person breaks off. */
async function chooseFiles(files: readonly UsableFile[]): Promise<UsableFile[]> {
  const { isCancel, multiselect } = await import('@clack/prompts');
  const chosen = await multiselect({
    message: 'Which of these may Signalbox use? Their settings and secrets stay where they are.',
    options: files.map((file) => ({
      value: file,
      label: `${file.path}  (${file.client})`,
      hint: oneLine(file.servers.join(', '), 60),
    })),
    initialValues: [...files],
    required: false,
    output: process.stderr,
  });
  if (!isCancel(chosen)) return chosen;
  throw new SignalboxError('cancelled', 'nothing was written', { details: { interrupted: true } });
}
