import { readdir, readFile, stat } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { errnoOf } from '@signalbox/protocol/internal';
import { type Capability, compileCapability } from '../document/compile-capability.ts';
import { type FileProblem, parseCapabilityFile } from './parse-file.ts';

/** A tool and the place where it is defined, as `file:line:column`. */
export interface PlacedCapability {
  capability: Capability;
  place: string;
}

/** The tools of one file. While it has problems, the tools are those of its last version without problems. */
export interface LoadedFile {
  text: string;
  tools: readonly PlacedCapability[];
  problems: readonly { message: string }[];
}

/** The environment and the clock that loading needs. */
export interface LoadDeps {
  env: Readonly<Record<string, string | undefined>>;
  now: () => number;
}

const maxFileBytes = 1024 * 1024;

/** Tells whether a file of this name in a folder is a capability file. */
export function isCapabilityFile(name: string): boolean {
  return /\.(ya?ml|json)$/i.test(name) && !name.startsWith('.');
}

/** Lists the files behind paths of files and folders, each once, those of a folder in the order of their names. */
export async function listCapabilityFiles(
  paths: readonly string[],
): Promise<{ files: string[]; problems: { message: string }[] }> {
  const files = new Map<string, string>();
  const problems: { message: string }[] = [];
  for (const path of paths) {
    try {
      const isFolder = (await stat(path)).isDirectory();
      const found = isFolder ? (await readdir(path)).filter(isCapabilityFile).sort() : undefined;
      for (const file of found?.map((name) => join(path, name)) ?? [path]) {
        if (!files.has(resolve(file))) files.set(resolve(file), file);
      }
    } catch (error) {
      problems.push({ message: `${path}: ${unreadable(error)}` });
    }
  }
  return { files: [...files.values()], problems };
}

/** Loads a file. If it has problems, the tools of the previous version `before` are kept; if it hasn't changed, `before` is returned. */
export async function loadCapabilityFile(
  path: string,
  before: LoadedFile | undefined,
  deps: LoadDeps,
): Promise<LoadedFile> {
  const read = await readBounded(path);
  if ('problem' in read) return brokenFile(path, '', [`: ${read.problem}`], before);
  const { text } = read;
  if (before?.text === text && before.problems.length === 0) return before;
  const { tools, problems } = compileFile(path, text, deps);
  return problems.length === 0 ? { text, tools, problems: [] } : brokenFile(path, text, problems, before);
}

/** Keeps the tools of the previous version. Each problem continues the path of the file. */
function brokenFile(
  path: string,
  text: string,
  problems: readonly string[],
  before: LoadedFile | undefined,
): LoadedFile {
  const tools = before?.tools ?? [];
  const kept = tools.length > 0 ? '; the version from before stays in use' : '';
  return { text, tools, problems: problems.map((problem) => ({ message: `${path}${problem}${kept}` })) };
}

async function readBounded(path: string): Promise<{ text: string } | { problem: string }> {
  try {
    const { size } = await stat(path);
    if (size > maxFileBytes) return { problem: `is larger than ${maxFileBytes} bytes` };
    return { text: await readFile(path, 'utf8') };
  } catch (error) {
    return { problem: unreadable(error) };
  }
}

function compileFile(
  path: string,
  text: string,
  deps: LoadDeps,
): { tools: PlacedCapability[]; problems: string[] } {
  try {
    const { tools, problems } = compileDocuments(path, text, deps);
    const inOrder = problems.sort((a, b) => a.line - b.line || a.column - b.column);
    return { tools, problems: inOrder.map(inLine) };
  } catch (error) {
    // A file that nests very deeply exhausts the stack.
    const why = error instanceof Error ? error.name : 'unreadable';
    return { tools: [], problems: [`: is no capability file (${why})`] };
  }
}

function compileDocuments(path: string, text: string, { env, now }: LoadDeps) {
  const { documents, problems } = parseCapabilityFile(text);
  const tools: PlacedCapability[] = [];
  for (const { document, problemAt } of documents) {
    const compiled = compileCapability(document, { env, directory: dirname(path) }, now);
    if ('problems' in compiled) {
      problems.push(...compiled.problems.map((found) => problemAt(found.path, found.message)));
      continue;
    }
    const { line, column } = problemAt(['name'], '');
    if (tools.some(({ capability }) => capability.tool.name === document.name)) {
      problems.push(problemAt(['name'], `this file defines '${document.name}' twice`));
    }
    tools.push({ capability: compiled.capability, place: `${path}:${line}:${column}` });
  }
  return { tools, problems };
}

function inLine({ line, column, path, message }: FileProblem): string {
  return `:${line}:${column}: ${path}: ${message}`;
}

function unreadable(error: unknown): string {
  const code = errnoOf(error) ?? 'unreadable';
  return code === 'ENOENT' ? 'there is no such file or folder' : `cannot be read (${code})`;
}
