import { realpathSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, isAbsolute, join } from 'node:path';
import { pathText } from '@signalbox/mcp-host/yaml-files';
import { nearestName, suggestion } from '@signalbox/protocol/internal';
import { clashingServers, serverPart } from '@signalbox/serving';
import { type FileProblem, type ReadContext, referenceSources, wholeFile } from '../document/config-file.ts';
import type { ConfigProblem } from '../document/config-problem.ts';
import { pathIn } from '../document/path-in.ts';
import { readJsonDocument } from '../document/read-json-document.ts';
import type { ReferredSecrets } from '../document/references.ts';
import type { ConfigDocument } from '../schema/config-schema.ts';
import { entryProblems, isRefinement, type McpServerEntry } from '../schema/server-schema.ts';
import { textOf } from '../schema/value-schemas.ts';
import type { Switches } from './formats/client-format.ts';
import { formatOfPath } from './formats/find-format.ts';
import { editorVariables, importDirectory } from './import-directory.ts';
import { type ImportPath, isSamePath, parseImportPath } from './import-path.ts';
import { checkIsFile, type ImportedText, type Pointers } from './imported-file.ts';
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

/** A path of `mcpConfig` whose file is absolute, and what could be read there. */
export interface ImportedPart extends ImportPath {
  /** The part of its file that is about servers, as it could last be read; absent if it could not be read. */
  text?: string;
}

/** The servers of a configuration and of all files that it names, merged by name. */
export interface MergedServers {
  servers: Record<string, MergedServer>;
  /** The names of imported servers that can't be used. */
  leftOut: string[];
  /** The files of `mcpConfig` that can't be used. */
  leftOutFiles: string[];
  /** The files of `mcpConfig` that can't be used now, also those whose servers stay as they were. */
  unread: FileProblem[];
  imports: ImportedPart[];
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
  readImport: (file: string, pointers: Pointers) => ImportedText;
  /** The parts of files that are in force in this process. */
  lastImports: readonly ImportedPart[];
  /** Says whether a server of another client's file is in force in this process. */
  wasImported: (server: string) => boolean;
}

/** The servers of another client's file. `named` is the file as people named it. */
interface Import extends Omit<ParsedMcpFile, 'problems' | 'lacksServers'> {
  named: string;
  directory: string;
  part: ImportedPart;
  /** The file in which its client switches servers off. */
  switches?: ImportedPart;
  /** Why the file can't be used now; empty if it can. */
  unread: ConfigProblem[];
  /** True if nothing of the file is used. */
  isLeftOut: boolean;
}

/** A reason why a server can't be hosted, with the server. */
type ServerProblem = FileProblem & { server: string };

/**
 * Merges servers by name: the files of `mcpConfig` in their order, then `mcpServers`. A later entry replaces the whole earlier one,
 * which is then not checked; an own entry that does not say how its server is reached refines the imported one instead. An imported
 * entry that can't be used is left out with a warning, and so is a file; neither keeps another server from being hosted.
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
  const leftOut: ServerProblem[] = imports.flatMap(({ named, skipped }) =>
    skipped.map((problem) => ({ file: named, ...problem })),
  );
  const problems: FileProblem[] = [];
  for (const [name, entry] of own) {
    if (isRefinement(entry) && isMissing(name, imports, context)) {
      const message = 'no file of mcpConfig has a server of this name now';
      leftOut.push(problemOf(name, { file: config.named, line: config.serverLines.get(name)! }, message));
    } else problems.push(...addOwn(servers, [name, entry], imports, config));
  }
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
    leftOutFiles: imports.filter(({ isLeftOut }) => isLeftOut).map(({ named }) => named),
    unread: imports.flatMap((file) => inFile(file.named, file.unread)),
    imports: imports.flatMap(({ part, switches }) => (switches ? [part, switches] : [part])),
    problems,
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
  const paths = [document.mcpConfig ?? []].flat().map((path) => {
    const { file, pointer } = parseImportPath(path);
    const named = isAbsolute(path) ? path : join(dirname(config.named), path);
    return { named, file: pathIn(dirname(config.file), file), pointer };
  });
  const replaced = new Set<string>();
  const imports: Import[] = [];
  for (const { named, file, pointer } of paths.toReversed()) {
    const isWanted = (name: string): boolean => context.isWanted(name) && !replaced.has(name);
    const pointers = paths.filter((other) => other.file === file).map((other) => other.pointer);
    context.onFile(file);
    const read = context.readImport(file, pointers);
    context.onRead(file, read.state);
    const found = importOf(named, { file, pointer }, read, config.named, { ...context, isWanted });
    for (const name of found.names) replaced.add(name);
    imports.unshift(found);
  }
  return imports;
}

/** Returns the servers of a file or, while it can't be read, those that it named when it last could. */
function importOf(
  named: string,
  path: ImportPath,
  read: ImportedText,
  namedBy: string,
  context: MergeContext,
): Import {
  const { file, pointer } = path;
  const written = writtenAs(file);
  const switched = switchesOf(written, context);
  const project = pointer.at(-1);
  // A client that keeps the servers of many projects in one file calls each by its directory.
  const directory = project !== undefined && isAbsolute(project) ? project : importDirectory(file);
  const parse = (text: string): ParsedMcpFile => {
    const sources = referenceSources(file, context, checkIsFile);
    const editor = editorVariables(directory, homedir());
    const { switches } = switched;
    return parseMcpFile(text, { file: written, pointer }, { ...sources, editor, switches }, context.isWanted);
  };
  const parsed = 'text' in read ? parse(read.text) : undefined;
  const problems =
    'text' in read ? parsed!.problems : [{ line: read.line, path: wholeFile, message: read.problem }];
  if ('text' in read && problems.length === 0) {
    const part = { ...path, text: read.text };
    const { part: switches, unread } = switched;
    return { ...parsed!, named, directory, part, ...(switches && { switches }), unread, isLeftOut: false };
  }
  const isGone = 'isGone' in read && read.isGone;
  const lastGood = parsed?.lacksServers
    ? undefined
    : context.lastImports.find((part) => isSamePath(part, path))?.text;
  const effect = lastGood === undefined ? 'none of its servers is used' : keptText(isGone);
  const unread = problems.map((problem) => ({
    ...problem,
    message: `${problem.message}; ${namedBy} names it in mcpConfig, and ${effect}`,
  }));
  if (lastGood !== undefined) {
    const { problems: _, lacksServers: __, ...kept } = parse(lastGood);
    const part = { ...path, text: lastGood };
    const { part: switches } = switched;
    const all = [...unread, ...switched.unread];
    return { ...kept, named, directory, part, ...(switches && { switches }), unread: all, isLeftOut: false };
  }
  return {
    ...{ named, directory, part: path, unread, isLeftOut: true, warnings: [] },
    ...{ names: [], servers: {}, lines: new Map(), secrets: new Map(), skipped: [] },
  };
}

/** Returns the path that says how a file is written: its own or, if that says nothing, the one that its link leads to. */
function writtenAs(file: string): string {
  if (formatOfPath(file)) return file;
  try {
    const real = realpathSync(file);
    return formatOfPath(real) ? real : file;
  } catch {
    // The reader of the file says what is wrong with it.
    return file;
  }
}

/**
 * Reads the file in which the client of a file switches its servers off. While it can't be read, its last good content counts, and
 * without that it may have switched off any server.
 */
function switchesOf(
  file: string,
  context: MergeContext,
): { switches: Switches; part?: ImportedPart; unread: ConfigProblem[] } {
  const format = formatOfPath(file);
  if (!format?.switches) return { switches: { content: {} }, unread: [] };
  const path = { file: pathIn(dirname(file), format.switches.path), pointer: [] };
  context.onFile(path.file);
  const read = context.readImport(path.file, [path.pointer]);
  context.onRead(path.file, read.state);
  const content = 'text' in read ? contentOf(read.text) : undefined;
  if ('text' in read && content)
    return { switches: { content }, part: { ...path, text: read.text }, unread: [] };
  const isGone = 'isGone' in read && read.isGone;
  const problem = 'text' in read ? 'is not JSON' : read.problem;
  const lastGood = context.lastImports.find((part) => isSamePath(part, path))?.text;
  const known = lastGood === undefined ? undefined : contentOf(lastGood);
  if (!known) return { switches: isGone ? { content: {} } : { problem }, part: path, unread: [] };
  const message = `${path.file}: ${problem}; the servers of ${format.clients} that it switches stay as they were`;
  return {
    switches: { content: known },
    part: { ...path, text: lastGood! },
    unread: [{ line: 1, path: '(file)', message }],
  };
}

function contentOf(json: string): Record<string, unknown> | undefined {
  const read = readJsonDocument(json);
  return 'problems' in read ? undefined : Object(read.document.toJS());
}

function keptText(isGone: boolean): string {
  return isGone
    ? 'its servers end if it does not come back within a minute'
    : 'its servers stay as they were when it could be read';
}

function mergeImports(imports: readonly Import[]): Record<string, MergedServer> {
  const servers: Record<string, MergedServer> = {};
  for (const name of new Set(imports.flatMap(({ names }) => names))) {
    const holders = imports.filter(({ names }) => names.includes(name));
    const last = holders.at(-1)!;
    const entry = Object.hasOwn(last.servers, name) ? last.servers[name] : undefined;
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
  const base = Object.hasOwn(servers, name) ? servers[name] : undefined;
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

/**
 * Returns true if a refinement has no server because another client's file lacks it. A name like that of another server is a mistake
 * instead: that server would run without what the refinement settles.
 */
function isMissing(name: string, imports: readonly Import[], { wasImported }: MergeContext): boolean {
  const names = imports.flatMap((file) => file.names);
  if (imports.length === 0 || names.includes(name)) return false;
  return (
    wasImported(name) || imports.some(({ isLeftOut }) => isLeftOut) || nearestName(name, names) === undefined
  );
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

function problemOf(
  server: string,
  { file, line }: Pick<ServerOrigin, 'file' | 'line'>,
  message: string,
): ServerProblem {
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
