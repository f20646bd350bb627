import { dirname, resolve } from 'node:path';
import { SignalboxError } from '@signalbox/protocol';
import { type Config, toConfig } from './config.ts';
import { type FileProblem, openConfigFile, problemText } from './config-file.ts';
import { layerServers } from './layer-servers.ts';
import { type ConfigPart, parseConfig } from './parse-config.ts';

export interface LoadOptions {
  env?: NodeJS.ProcessEnv;
  /** Only these are resolved and checked. */
  parts?: readonly ConfigPart[];
  /** Only this server is; the others are left out. */
  onlyServer?: string;
  /** Told the name of each server there is, wanted or not. */
  onServer?: (name: string) => void;
  /** Told the absolute path of each file before it is read, `${file:…}` included, even if the load then fails. */
  onFile?: (path: string) => void;
}

/**
 * Loads a configuration file, with those it names in `mcpConfig`.
 * Throws `SignalboxError` `bad_config` whose message has one line per problem: `file:line: path: message`.
 */
export function loadConfig(named: string, options: LoadOptions = {}): Config {
  const file = resolve(named);
  const { env = process.env, onFile = () => {}, onServer, onlyServer } = options;
  const isWanted = (server: string): boolean => {
    onServer?.(server);
    return onlyServer === undefined || server === onlyServer;
  };
  const around = { env, onFile, isWanted };
  const opened = openConfigFile(named, file, around);
  if ('problem' in opened) throw badConfig(named, [opened.problem]);
  const parsed = parseConfig(opened.text, opened.sources, options.parts, isWanted);
  if ('problems' in parsed) {
    throw badConfig(
      named,
      parsed.problems.map((problem) => ({ file: named, ...problem })),
    );
  }
  const layers = layerServers(parsed.document, { named, file }, around);
  if (layers.problems.length > 0) throw badConfig(named, layers.problems);
  return toConfig(
    parsed.document,
    { file, directory: dirname(file) },
    { servers: layers.servers, warnings: layers.warnings.map(problemText) },
  );
}

function badConfig(named: string, problems: readonly FileProblem[]): SignalboxError {
  return new SignalboxError('bad_config', problems.map(problemText).join('\n'), {
    details: { file: named, problems },
  });
}
