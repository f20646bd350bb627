import { dirname, resolve } from 'node:path';
import { SignalboxError } from '@signalbox/protocol';
import { type Config, settleConfig } from './config.ts';
import {
  type FileProblem,
  type OpenedFile,
  openConfigFile,
  problemText,
  type ReadContext,
  textOfFile,
} from './document/config-file.ts';
import { type ConfigPart, parseConfig } from './parse-config.ts';
import { type ImportedText, type Pointers, readImportedFile } from './servers/imported-file.ts';
import { mergeServers } from './servers/merge-servers.ts';

/** Selects the parts of a configuration to read, and receives the names that are found in it. */
export interface LoadOptions {
  /** The environment for `${env:…}`; by default that of the process. */
  env?: NodeJS.ProcessEnv;
  /** Only these parts are resolved and checked. */
  parts?: readonly ConfigPart[];
  /** Only this server is resolved and checked; the others are left out. */
  onlyServer?: string;
  /** Called with the name of each server in the files, also of those that are left out. */
  onServer?: (name: string) => void;
  /** Called with the absolute path of each file before it is read, those of `${file:…}` included. */
  onFile?: (path: string) => void;
  /** Called with a hash of each file that was read, as {@link Config.files} has it. */
  onRead?: (path: string, state: string) => void;
  /** Reads a file of another client; by default from the disk. */
  readImport?: (file: string, pointers: Pointers) => ImportedText;
  /** The configuration that this process runs with: what cannot be read of other clients' files stays as it is there. */
  inForce?: Pick<Config, 'file' | 'imports' | 'origins'>;
}

/** Reads a configuration file with those that it names in `mcpConfig`. Throws `bad_config` with all problems. */
export function readConfig(named: string, options: LoadOptions = {}): Config {
  return read(named, (context) => openConfigFile(named, resolve(named), context), options);
}

/**
 * Reads a text as the configuration file `named` would be read if it held this text. Throws `bad_config` with all problems, also those
 * in the files that the text names.
 */
export function readConfigText(text: string, named: string, options: LoadOptions = {}): Config {
  return read(named, (context) => textOfFile(text, resolve(named), context), options);
}

function read(named: string, open: (context: ReadContext) => OpenedFile, options: LoadOptions): Config {
  const file = resolve(named);
  const { env = process.env, onServer, onlyServer, inForce, readImport = readImportedFile } = options;
  const files = new Map<string, string>();
  const onFile = (path: string): void => {
    files.set(path, '');
    options.onFile?.(path);
  };
  const onRead = (path: string, state: string): void => {
    files.set(path, state);
    options.onRead?.(path, state);
  };
  const isWanted = (server: string): boolean => {
    onServer?.(server);
    return onlyServer === undefined || server === onlyServer;
  };
  const opened = open({ env, onFile, onRead });
  if ('problem' in opened) throw badConfig(named, [opened.problem]);
  const parsed = parseConfig(opened.text, opened.sources, options.parts, isWanted);
  if ('problems' in parsed) {
    throw badConfig(
      named,
      parsed.problems.map((problem) => ({ file: named, ...problem })),
    );
  }
  const merged = mergeServers(
    parsed.document,
    { named, file, serverLines: parsed.serverLines, secrets: parsed.secrets },
    {
      ...{ env, onFile, onRead, isWanted, readImport },
      lastImports: inForce?.imports ?? [],
      wasImported: (server) => isImported(inForce, server),
    },
  );
  if (merged.problems.length > 0) throw badConfig(named, merged.problems);
  return settleConfig(parsed.document, {
    file,
    files: Object.fromEntries(files),
    directory: dirname(file),
    servers: merged.servers,
    leftOut: merged.leftOut,
    leftOutFiles: merged.leftOutFiles,
    unreadFiles: merged.unread.map(problemText),
    imports: merged.imports,
    warnings: [...merged.unread, ...merged.warnings].map(problemText),
  });
}

function isImported(config: LoadOptions['inForce'], server: string): boolean {
  const file = config?.origins[server]?.file;
  return file !== undefined && resolve(file) !== config?.file;
}

function badConfig(named: string, problems: readonly FileProblem[]): SignalboxError {
  return new SignalboxError('bad_config', problems.map(problemText).join('\n'), {
    details: { file: named, problems },
  });
}
