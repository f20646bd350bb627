import { dataFolderOf } from '@signalbox/mcp-host/rules';
import { SignalboxError } from '@signalbox/protocol';
import type { Config } from '../config.ts';
import { givenPaths } from './given-paths.ts';
import { inheritanceWarnings } from './inheritance-warnings.ts';
import { secretWarnings } from './secret-warnings.ts';
import { liesIn, settledPath } from './settled-path.ts';

/** The files besides the configuration that no hosted server may reach. */
export interface GuardedFiles {
  /** The data directory of broker and orchestrator. It holds the operator's token. */
  dataDir: string;
  /** Files with tokens that are in use. */
  tokenFiles?: readonly string[];
}

/** Something of ours that a hosted server can reach by a path that its entry gives it. */
interface Exposure {
  kind: 'data directory' | 'token file' | 'key of broker.tls' | 'key of a2a.tls' | 'configuration';
  text: string;
}

/**
 * Returns the configuration, with a warning for each of its own files that a hosted server could change. Throws `SignalboxError` `exposed`
 * if a hosted server can reach the data directory, a token file or a TLS key; with `allowExposed` these become warnings, too.
 */
export function withExposureChecked(
  config: Config,
  guarded: GuardedFiles,
  { allowExposed = false } = {},
): Config {
  const exposures = findExposures(config, guarded);
  const refused = exposures.filter(({ kind }) => kind !== 'configuration').map(({ text }) => text);
  if (refused.length > 0 && !allowExposed) {
    throw new SignalboxError('exposed', refused.join('\n'), {
      details: {
        problems: refused,
        // biome-ignore lint/suspicious/noTemplateCurlyInString: the placeholder as people write it
        hint: 'give the server a folder of its own, as in ./project or ${data}, and leave broker.data out or name a directory elsewhere; --allow-exposed starts nevertheless',
      },
    });
  }
  const warnings = [
    ...refused.map((text) => `EXPOSED, as --allow-exposed allows: ${text}`),
    ...exposures.filter(({ kind }) => kind === 'configuration').map(({ text }) => text),
    ...secretWarnings(config),
    ...inheritanceWarnings(config),
  ];
  return { ...config, warnings: [...config.warnings, ...warnings] };
}

/** Says which of these token files a hosted server can read by a path that its entry gives it. */
export function exposedTokens(config: Config, files: readonly string[]): string[] {
  return exposedOf(config, 'token file', files).map(({ text }) => text);
}

/** Says which files of the configuration a hosted server could change. */
export function exposedConfiguration(config: Config, dataDir: string): string[] {
  return exposedOf(config, 'configuration', configurationOf(config), dataDir).map(({ text }) => text);
}

/** Returns true if a hosted server could change a file of the configuration. */
export function exposesConfiguration(config: Config): boolean {
  return exposedOf(config, 'configuration', configurationOf(config)).length > 0;
}

/** Lists which of these files lie in the directory in which a program works. A data directory around it counts, too. */
export function heldBy(
  directory: string,
  { dataDir, tokenFiles = [], configFiles = [] }: Partial<GuardedFiles> & { configFiles?: readonly string[] },
): string[] {
  const settled = settledPath(directory);
  const reaches = (path: string): boolean => liesIn(settledPath(path), settled);
  const isIn = (path: string): boolean => liesIn(settled, settledPath(path));
  return [
    ...(dataDir !== undefined && (reaches(dataDir) || isIn(dataDir))
      ? [`the data directory ${dataDir}`]
      : []),
    ...tokenFiles.filter(reaches).map((path) => `the token file ${path}`),
    ...configFiles.filter(reaches).map((path) => `the configuration ${path}`),
  ];
}

function findExposures(config: Config, { dataDir, tokenFiles = [] }: GuardedFiles): Exposure[] {
  return [
    ...exposedOf(config, 'data directory', [dataDir], dataDir),
    ...exposedOf(config, 'token file', tokenFiles, dataDir),
    ...exposedOf(config, 'key of broker.tls', config.broker.tls ? [config.broker.tls.key] : [], dataDir),
    ...exposedOf(config, 'key of a2a.tls', config.a2a?.tls ? [config.a2a.tls.key] : [], dataDir),
    ...exposedOf(config, 'configuration', configurationOf(config), dataDir),
  ];
}

function configurationOf({ files, capabilities }: Config): string[] {
  return [...Object.keys(files), ...capabilities];
}

/**
 * A server that is given one of our files, or a directory around or in one, can reach it. Its own folder in the data directory is the
 * only one there that it may be given.
 */
function exposedOf(
  { mcpServers, origins }: Config,
  kind: Exposure['kind'],
  paths: readonly string[],
  dataDir?: string,
): Exposure[] {
  const guarded = [...new Set(paths.map((path) => settledPath(path)))];
  return Object.entries(mcpServers).flatMap(([server, entry]) => {
    if (entry.disabled) return [];
    const ownFolder = dataDir === undefined ? undefined : dataFolderOf(settledPath(dataDir), server);
    const found = givenPaths(entry, ownFolder).flatMap(({ where, path, isPath, from }) => {
      const reached = guarded.flatMap((file) => {
        if (kind === 'data directory' && ownFolder !== undefined && liesIn(path, ownFolder)) return [];
        const isAround = liesIn(file, path);
        // Where the server starts in our directory, each of its words would lie there.
        const isNamed = isPath || !liesIn(from, file);
        if (!isAround && !(isNamed && liesIn(path, file))) return [];
        const way = isAround ? (file === path ? 'is' : 'holds') : 'lies in';
        return { way, ours: file === path ? kind : `${kind} ${file}` };
      });
      const place = `${origins[server]?.file ?? '(config)'}: mcpServers.${server}.${where}`;
      return [...Map.groupBy(reached, ({ way }) => way)].map(([way, files]) => {
        const ours = files.map((one) => `the ${one.ours}`).join(' and ');
        return `${place}: ${path} ${way} ${ours}, ${effects[kind]}`;
      });
    });
    return [...new Set(found)].map((text) => ({ kind, text }));
  });
}

const effects = {
  'data directory': "so anybody who may use the server can read the operator's token and act as the operator",
  'token file': 'so anybody who may use the server can act with that token',
  'key of broker.tls':
    "so anybody who may use the server can pretend to be the broker and collect its clients' tokens",
  'key of a2a.tls':
    "so anybody who may use the server can pretend to be the agents of a2a and collect their callers' tokens",
  configuration:
    'so anybody who may use the server could change what runs here: it is not read again while it runs, except at SIGHUP',
};
