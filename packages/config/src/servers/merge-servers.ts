import { dirname, isAbsolute, join } from 'node:path';
import { clashingServers, serverPart } from '@signalbox/protocol';
import { type FileProblem, openConfigFile, type ReadContext } from '../document/config-file.ts';
import { pathIn } from '../document/path-in.ts';
import type { ConfigDocument } from '../schema/config-schema.ts';
import type { McpServerEntry } from '../schema/server-schema.ts';
import { type ParsedMcpFile, parseMcpFile } from './parse-mcp-file.ts';

/** The origin of an entry of `mcpServers`: the file in force, and the files whose entries it replaced. */
export interface ServerOrigin {
  file: string;
  replaces: string[];
}

/** A server's entry with the directory that its paths are relative to, and its origin. */
export interface MergedServer {
  entry: McpServerEntry;
  directory: string;
  origin: ServerOrigin;
}

/** The servers of a configuration and of all files that it names, merged by name. */
export interface MergedServers {
  servers: Record<string, MergedServer>;
  problems: FileProblem[];
  warnings: FileProblem[];
}

/** The access to files and variables, and the choice of servers. Servers that are not wanted are not checked. */
export interface MergeContext extends ReadContext {
  isWanted: (server: string) => boolean;
}

/** The servers of one file. `named` is the file as people named it. */
interface Layer extends ParsedMcpFile {
  named: string;
  directory: string;
}

/**
 * Merges servers by name: the files of `mcpConfig` in their order, then `mcpServers`. A later entry replaces the whole
 * earlier one, which is then not checked.
 */
export function mergeServers(
  document: ConfigDocument,
  config: { named: string; file: string },
  context: MergeContext,
): MergedServers {
  const directory = dirname(config.file);
  const entries = document.mcpServers ?? {};
  const names = Object.keys(entries);
  const layers: Layer[] = [
    { named: config.named, directory, names, servers: entries, problems: [], warnings: [] },
  ];
  const replaced = new Set(names);
  for (const path of [document.mcpConfig ?? []].flat().toReversed()) {
    const named = isAbsolute(path) ? path : join(dirname(config.named), path);
    const isWanted = (name: string): boolean => context.isWanted(name) && !replaced.has(name);
    const layer = readLayer(named, pathIn(directory, path), config.named, { ...context, isWanted });
    for (const name of layer.names) replaced.add(name);
    layers.unshift(layer);
  }
  const all = (kind: 'problems' | 'warnings'): FileProblem[] =>
    layers.flatMap((layer) => layer[kind].map((problem) => ({ file: layer.named, ...problem })));
  const servers = mergeLayers(layers);
  return { servers, problems: [...all('problems'), ...clashesOf(servers)], warnings: all('warnings') };
}

/** A role's pattern for the tools of one server must never match tools of another. */
function clashesOf(servers: Record<string, MergedServer>): FileProblem[] {
  const clash = clashingServers(Object.keys(servers));
  if (!clash) return [];
  const { first, second } = clash;
  const pattern = `mcp_${serverPart(first)}__*`;
  const message = `a pattern for the tools of '${first}', such as ${pattern}, would match tools of '${second}' too; rename one of the two`;
  return [{ file: servers[second]!.origin.file, line: 1, path: `mcpServers.${second}`, message }];
}

function readLayer(named: string, file: string, namedBy: string, context: MergeContext): Layer {
  const directory = dirname(file);
  const opened = openConfigFile(named, file, context);
  if ('text' in opened) {
    return { named, directory, ...parseMcpFile(opened.text, opened.sources, context.isWanted) };
  }
  const message = `${opened.problem.message}; ${namedBy} names it in mcpConfig`;
  return {
    named,
    directory,
    names: [],
    servers: {},
    problems: [{ ...opened.problem, message }],
    warnings: [],
  };
}

function mergeLayers(layers: readonly Layer[]): Record<string, MergedServer> {
  const servers: Record<string, MergedServer> = {};
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
