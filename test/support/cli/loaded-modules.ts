import { existsSync, readFileSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

/** Makes a process write down, when it ends, which modules it has loaded. */
const recorder = `
import { writeFileSync } from 'node:fs';
import { registerHooks } from 'node:module';
const loaded = [];
registerHooks({ load: (url, context, next) => (loaded.push(url), next(url, context)) });
process.on('exit', () => writeFileSync(process.env.LOADED, [...loaded, ...process.moduleLoadList].join('\\n')));
`;

/** The modules that a process with this environment has loaded. */
export interface LoadRecord {
  readonly env: Record<string, string>;
  /** The URLs of all source modules that were loaded, also as part of a bundle, and Node's names of its own. */
  modules(): Promise<string[]>;
  /** The URLs of the files that were loaded. */
  files(): Promise<string[]>;
}

/** Returns an environment that makes a process write down what it loads, in two files of the directory. */
export async function recordLoads(directory: string): Promise<LoadRecord> {
  const [hook, list] = [join(directory, 'hook.mjs'), join(directory, 'loaded.txt')];
  await writeFile(hook, recorder);
  const loaded = async (): Promise<string[]> => (await readFile(list, 'utf8')).split('\n');
  return {
    env: { NODE_OPTIONS: `--import=${pathToFileURL(hook)}`, LOADED: list },
    modules: async () => (await loaded()).flatMap(sourcesOf),
    files: async () => (await loaded()).filter((url) => url.startsWith('file:')),
  };
}

/** Returns the modules that were bundled into a file, which its source map lists, or else the file. */
function sourcesOf(url: string): string[] {
  if (!url.startsWith('file:')) return [url];
  const map = `${fileURLToPath(url)}.map`;
  if (!existsSync(map)) return [url];
  const { sources } = JSON.parse(readFileSync(map, 'utf8')) as { sources: string[] };
  return sources.map((source) => new URL(source, url).href);
}

/** Returns the name of the package below `node_modules` that a module is part of, or else the module. */
export function packageOf(url: string): string {
  return /node_modules\/(?!.*node_modules\/)((@[^/]+\/)?[^/]+)/.exec(url)?.[1] ?? url;
}
