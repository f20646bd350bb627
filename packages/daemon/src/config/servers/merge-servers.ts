import { homedir } from 'node:os';
import { dirname, isAbsolute, join } from 'node:path';
import { pathText } from '@signalbox/mcp-host/yaml-files';
import { suggestion } from '@signalbox/protocol/internal';
import { clashingServers, serverPart } from '@signalbox/serving';
import { type FileProblem, openConfigFile, type ReadContext } from '../document/config-file.ts';
import type { ConfigProblem } from '../document/config-problem.ts';
import { pathIn } from '../document/path-in.ts';
import type { ReferredSecrets } from '../document/references.ts';
import type { ConfigDocument } from '../schema/config-schema.ts';
import { entryProblems, isRefinement, type McpServerEntry } from '../schema/server-schema.ts';
import { textOf } from '../schema/value-schemas.ts';
import { editorVariables, importDirectory } from './import-directory.ts';
import { type ImportPath, parseImportPath } from './import-path.ts';
import { type ParsedMcpFile, parseMcpFile } from './parse-mcp-file.ts';
import { refinedEntry, settledEntry } from './settled-entry.ts';

/** The origin of an entry of `mcpServers`: the file in force, and the files whose entries it replaced. */
export interface ServerOrigin {
  file: string;
  line: number;
  replaces: string[];
  /** The file that settles some keys of this imported server. */
  refinedBy?: string;
}

/** A server's entry, whose paths are absolute, with its origin. */
export interface MergedServer {
  entry: McpServerEntry;
  /** The secrets that references put into the texts of the entry. */
  secrets: ReferredSecrets;
  origin: ServerOrigin;
}

/** The servers of a configuration and of all files that it names, merged by name. */
export interface MergedServers {
  servers: Record<string, MergedServer>;
  /** The names of imported servers that can't be used. */
  leftOut: string[];
  problems: FileProblem[];
  warnings: FileProblem[];
}

/** The configuration whose servers are merged, as people named it, by its absolute path, and with the line of each of its servers. */
export interface MergingConfig {
  named: string;
  file: string;
  serverLines: ReadonlyMap<string, number>;
  secrets: ReferredSecrets;
}

/** The access to files and variables, and the choice of servers. Servers that are not wanted are not checked. */
export interface MergeContext extends ReadContext {
  isWanted: (server: string) => boolean;
}

/** The servers of another client's file. `named` is the file as people named it. */
interface Import extends ParsedMcpFile {
  named: string;
  directory: string;
}

/** A reason why a server can't be hosted, with the server. */
type ServerProblem = FileProblem & { server: string };

/**
 * Merges servers by name: the files of `mcpConfig` in their order, then `mcpServers`. A later entry replaces the whole earlier one,
 * which is then not checked; an own entry that does not say how its server is reached refines the imported one instead. An imported
 * entry that can't be used is left out with a warning, and keeps no other server from being hosted.
 */
export function mergeServers(
  document: ConfigDocument,
  config: MergingConfig,
  context: MergeContext,
): MergedServers {
  const own = Object.entries(document.mcpServers ?? {});
  const imports = readImports(document, config, {
    ...context,
    isWanted: (name) =>
      context.isWanted(name) && !own.some(([server, entry]) => server === name && !isRefinement(entry)),
  });
  const servers = mergeImports(imports);
  const problems = own.flatMap(([name, entry]) => addOwn(servers, [name, entry], imports, config));
  const leftOut: ServerProblem[] = imports.flatMap(({ named, skipped }) =>
    skipped.map((problem) => ({ file: named, ...problem })),
  );
  const isImported = (server: string): boolean =>
    imports.some(({ named }) => named === servers[server]!.origin.file);
  for (let found = unusable(servers, isImported); found; found = unusable(servers, isImported)) {
    if (isImported(found.server)) leftOut.push(found);
    else problems.push(asProblem(found));
    delete servers[found.server];
  }
  return {
    servers,
    leftOut: [...new Set(leftOut.map(({ server }) => server))],
    problems: [...imports.flatMap((file) => inFile(file.named, file.problems)), ...problems],
    warnings: [
      ...leftOut.map((problem) => ({
        ...asProblem(problem),
        message: `${problem.message}; this server is left out`,
      })),
      ...imports.flatMap((file) => inFile(file.named, file.warnings)),
    ],
  };
}

function inFile(file: string, problems: readonly ConfigProblem[]): FileProblem[] {
  return problems.map((problem) => ({ file, ...problem }));
}

function asProblem({ file, line, path, message }: ServerProblem): FileProblem {
  return { file, line, path, message };
}

function readImports(document: ConfigDocument, config: MergingConfig, context: MergeContext): Import[] {
  const replaced = new Set<string>();
  const imports: Import[] = [];
  for (const path of [document.mcpConfig ?? []].flat().toReversed()) {
    const named = isAbsolute(path) ? path : join(dirname(config.named), path);
    const isWanted = (name: string): boolean => context.isWanted(name) && !replaced.has(name);
    const { file, pointer } = parseImportPath(path);
    const from = { file: pathIn(dirname(config.file), file), pointer };
    const read = readImport(named, from, config.named, { ...context, isWanted });
    for (const name of read.names) replaced.add(name);
    imports.unshift(read);
  }
  return imports;
}

function readImport(
  named: string,
  { file, pointer }: ImportPath,
  namedBy: string,
  context: MergeContext,
): Import {
  const project = pointer.at(-1);
  // A client that keeps the servers of many projects in one file calls each by its directory.
  const directory = project !== undefined && isAbsolute(project) ? project : importDirectory(file);
  const opened = openConfigFile(named, file, context);
  if ('text' in opened) {
    const sources = { ...opened.sources, editor: editorVariables(directory, homedir()) };
    return { named, directory, ...parseMcpFile(opened.text, { file, pointer }, sources, context.isWanted) };
  }
  const { line, path, message } = opened.problem;
  return {
    named,
    directory,
    names: [],
    servers: {},
    lines: new Map(),
    secrets: new Map(),
    skipped: [],
    problems: [{ line, path, message: `${message}; ${namedBy} names it in mcpConfig` }],
    warnings: [],
  };
}

function mergeImports(imports: readonly Import[]): Record<string, MergedServer> {
  const servers: Record<string, MergedServer> = {};
  for (const name of new Set(imports.flatMap(({ names }) => names))) {
    const holders = imports.filter(({ names }) => names.includes(name));
    const last = holders.at(-1)!;
    const entry = last.servers[name];
    if (!entry) continue;
    const replaces = holders.slice(0, -1).map(({ named }) => named);
    const origin = { file: last.named, line: last.lines.get(name)!, replaces };
    servers[name] = { entry: settledEntry(entry, last.directory), secrets: last.secrets, origin };
  }
  return servers;
}

/** Adds an own entry to the servers, or refines an imported one, in place. Returns what keeps it from being used. */
function addOwn(
  servers: Record<string, MergedServer>,
  [name, entry]: [string, McpServerEntry],
  imports: readonly Import[],
  { named: file, file: path, serverLines, secrets }: MergingConfig,
): FileProblem[] {
  const line = serverLines.get(name)!;
  const holders = imports.filter(({ names }) => names.includes(name)).map(({ named }) => named);
  if (!isRefinement(entry)) {
    servers[name] = {
      entry: settledEntry(entry, dirname(path)),
      secrets,
      origin: { file, line, replaces: holders },
    };
    return [];
  }
  const base = servers[name];
  // Its own file was told already why it is left out.
  if (!base && holders.length > 0) return [];
  const problem = (at: string[], message: string): FileProblem => ({
    file,
    line,
    path: pathText(['mcpServers', name, ...at]),
    message,
  });
  if (!base) return [problem([], missingBase(name, imports))];
  const refined = refinedEntry(base.entry, entry, dirname(path));
  servers[name] = {
    entry: refined,
    secrets: new Map([...base.secrets, ...secrets]),
    origin: { ...base.origin, refinedBy: file },
  };
  return entryProblems(refined).map(({ at, message }) => problem(at, message));
}

function missingBase(name: string, imports: readonly Import[]): string {
  const names = imports.flatMap((file) => file.names);
  const needed = "needs 'command' or 'url'";
  if (names.length === 0) return needed;
  return `${needed}: no file of mcpConfig has a server of this name whose settings it could refine${suggestion(name, names)}`;
}

/** Finds a server that can't be hosted as it is, or not beside the others: of two, the imported one. */
function unusable(
  servers: Readonly<Record<string, MergedServer>>,
  isImported: (server: string) => boolean,
): ServerProblem | undefined {
  for (const [server, { entry, origin }] of Object.entries(servers)) {
    const message = instanceProblem(entry) ?? questionsProblem(entry);
    if (message !== undefined) return problemOf(server, origin, message);
  }
  const clash = clashingServers(Object.keys(servers));
  if (!clash) return undefined;
  const { first, second } = clash;
  const server = [second, first].find(isImported) ?? second;
  const pattern = `mcp_${serverPart(first)}__*`;
  const message = `a pattern for the tools of '${first}', such as ${pattern}, would match tools of '${second}' too; rename one of the two`;
  return problemOf(server, servers[server]!.origin, message);
}

function problemOf(server: string, { file, line }: ServerOrigin, message: string): ServerProblem {
  return { server, file, line, path: pathText(['mcpServers', server]), message };
}

function instanceProblem({
  share = 'all',
  args = [],
  env = {},
  cwd = '',
}: McpServerEntry): string | undefined {
  // biome-ignore lint/suspicious/noTemplateCurlyInString: the placeholder as people write it
  const placeholder = '${instance}';
  const isUsed = [...args, ...Object.values(env), cwd].some((value) => textOf(value).includes(placeholder));
  if (share !== 'all' || !isUsed) return undefined;
  return `${placeholder} stands for a role or worker; set share: role or share: worker, or leave it out`;
}

function questionsProblem({ share = 'all', questions = [] }: McpServerEntry): string | undefined {
  if (share === 'worker' || !questions.includes('roots')) return undefined;
  return 'questions: roots of one client are nothing for the others; set share: worker, or leave roots out';
}
