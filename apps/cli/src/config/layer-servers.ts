import { dirname, isAbsolute, join, resolve } from 'node:path';
import type { LayeredServer } from './config.ts';
import { type FileProblem, openConfigFile } from './config-file.ts';
import { type ParsedMcpFile, parseMcpFile } from './parse-mcp-file.ts';
import type { ConfigDocument } from './schema.ts';

/** The servers of a configuration and of all files it names, merged by name. */
export interface LayeredServers {
  servers: Record<string, LayeredServer>;
  problems: FileProblem[];
  warnings: FileProblem[];
}

export interface LayerSurroundings {
  env: NodeJS.ProcessEnv;
  onFile: (path: string) => void;
  /** Other servers are neither resolved nor checked. */
  isWanted: (server: string) => boolean;
}

interface Layer extends ParsedMcpFile {
  /** As people named it. */
  named: string;
  directory: string;
}

/**
 * Merges servers by name: the files of `mcpConfig` in their order, then `mcpServers`. A later entry replaces the whole
 * earlier one, which is then not looked at.
 */
export function layerServers(
  document: ConfigDocument,
  own: { named: string; file: string },
  around: LayerSurroundings,
): LayeredServers {
  const directory = dirname(own.file);
  const entries = document.mcpServers ?? {};
  const layers: Layer[] = [
    {
      named: own.named,
      directory,
      names: Object.keys(entries),
      servers: entries,
      problems: [],
      warnings: [],
    },
  ];
  const replaced = new Set(Object.keys(entries));
  for (const path of [document.mcpConfig ?? []].flat().toReversed()) {
    const named = isAbsolute(path) ? path : join(dirname(own.named), path);
    const isWanted = (name: string): boolean => around.isWanted(name) && !replaced.has(name);
    const layer = readLayer(named, resolve(directory, path), own.named, { ...around, isWanted });
    for (const name of layer.names) replaced.add(name);
    layers.unshift(layer);
  }
  const told = (kind: 'problems' | 'warnings'): FileProblem[] =>
    layers.flatMap((layer) => layer[kind].map((problem) => ({ file: layer.named, ...problem })));
  return {
    servers: merge(layers),
    problems: told('problems'),
    warnings: told('warnings'),
  };
}

function readLayer(named: string, file: string, namedBy: string, around: LayerSurroundings): Layer {
  const opened = openConfigFile(named, file, around);
  if ('text' in opened) {
    return { named, directory: dirname(file), ...parseMcpFile(opened.text, opened.sources, around.isWanted) };
  }
  const message = `${opened.problem.message}; ${namedBy} names it in mcpConfig`;
  return {
    named,
    directory: dirname(file),
    names: [],
    servers: {},
    problems: [{ ...opened.problem, message }],
    warnings: [],
  };
}

function merge(layers: readonly Layer[]): Record<string, LayeredServer> {
  const servers: Record<string, LayeredServer> = {};
  for (const name of new Set(layers.flatMap((layer) => layer.names))) {
    const holders = layers.filter((layer) => layer.names.includes(name));
    const last = holders.at(-1);
    const entry = last?.servers[name];
    if (!last || !entry) continue;
    const replaces = holders.slice(0, -1).map((layer) => layer.named);
    servers[name] = { entry, directory: last.directory, origin: { file: last.named, replaces } };
  }
  return servers;
}
