import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { createRequire, registerHooks, stripTypeScriptTypes } from 'node:module';
import { fileURLToPath } from 'node:url';
import { type Counts, enteredName } from './counts.ts';

const root = new URL('../../../', import.meta.url);
/** Parsing takes much longer than all the rest, so what is made of a source is kept. */
const cache = fileURLToPath(new URL('node_modules/.cache/counts/', root));
const maker = fileURLToPath(new URL('./instrument.ts', import.meta.url));
const makerText = readFileSync(maker);

/** Counts which functions of our sources are entered, in modules that are loaded from now on. */
export function countEntries() {
  /** The files of the functions, in the order in which they were entered. */
  let entered: string[] = [];
  Object.assign(globalThis, { [enteredName]: (file: string) => entered.push(file) });
  mkdirSync(cache, { recursive: true });
  registerHooks({
    load: (url, context, next) => {
      const file = productFile(url);
      if (file === undefined) return next(url, context);
      return { format: 'module', source: instrumentedFile(file), shortCircuit: true };
    },
  });
  return {
    reset: (): void => {
      entered = [];
    },
    counts: (): Pick<Counts, 'functions' | 'files' | 'moves'> => ({
      functions: entered.length,
      files: new Set(entered).size,
      moves: entered.filter((file, i) => i > 0 && file !== entered[i - 1]).length,
    }),
  };
}

/** Returns the path of a source of a package or of the command, from the root; `undefined` for all else. */
function productFile(url: string): string | undefined {
  const file = url.startsWith(root.href) ? url.slice(root.href.length) : '';
  return /^(packages\/[^/]+|apps\/cli)\/src\/.*\.ts$/.test(file) ? file : undefined;
}

function instrumentedFile(file: string): string {
  const source = readFileSync(fileURLToPath(new URL(file, root)), 'utf8');
  const mark = `//${createHash('sha256').update(makerText).update(source).digest('hex')}`;
  const kept = `${cache}${file.replaceAll('/', '-')}.js`;
  const known = existsSync(kept) ? readFileSync(kept, 'utf8') : '';
  if (known.endsWith(mark)) return known;
  // The parser is loaded only by a process that needs it.
  const { instrumented } = createRequire(import.meta.url)(maker) as typeof import('./instrument.ts');
  const code = `${instrumented(stripTypeScriptTypes(source), file)}\n${mark}`;
  // Processes that start together make the same files.
  const written = `${kept}.${process.pid}`;
  writeFileSync(written, code);
  renameSync(written, kept);
  return code;
}
