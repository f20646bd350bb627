import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const root = fileURLToPath(new URL('../../..', import.meta.url));

/** A TypeScript program that a document shows. */
export interface DocumentedProgram {
  /** The name for its file and its working directory. */
  name: string;
  document: string;
  code: string;
  /** True if the program is run, and false if it is only compiled. */
  isRun: boolean;
  /** The output that the document promises. */
  prints?: string;
}

interface Manifest {
  version: string;
  name: string;
  private?: boolean;
  exports: Record<string, unknown>;
}

/** Reads the manifests of the packages that can be published. */
export function publishedPackages(): { folder: string; manifest: Manifest }[] {
  return globSync(['packages/*', 'apps/*'], { cwd: root })
    .map((folder) => ({
      folder,
      manifest: JSON.parse(readFileSync(join(root, folder, 'package.json'), 'utf8')) as Manifest,
    }))
    .filter(({ manifest }) => !manifest.private);
}

/**
 * Finds the first program of each package's README. Throws for a library whose README shows none. A block that begins with
 * `ts compile-only` needs what is not there, such as a database server.
 */
export function packagePrograms(): DocumentedProgram[] {
  return publishedPackages()
    .filter(({ manifest }) => manifest.exports['.'] !== undefined)
    .map(({ folder, manifest }) => {
      const document = join(folder, 'README.md');
      const [runnable] = blocksOf(document, 'ts');
      const code = runnable ?? blocksOf(document, 'ts compile-only')[0];
      if (code === undefined) throw new Error(`${document} shows no program: add a block of ts`);
      const [prints] = blocksOf(document, 'text');
      return {
        name: manifest.name.replace('@signalbox/', ''),
        document,
        code,
        isRun: runnable !== undefined,
        ...(prints && { prints }),
      };
    });
}

/** Returns the program of README.md. */
export function readmeProgram(): DocumentedProgram {
  const [code] = blocksOf('README.md', 'ts');
  return { name: 'readme', document: 'README.md', code: code!, isRun: true };
}

/** Returns the programs of the guide on agents in TypeScript, each with the output that stands below it. */
export function guidePrograms(): DocumentedProgram[] {
  const document = 'docs/guide/typescript.md';
  const outputs = blocksOf(document, 'text');
  return blocksOf(document, 'ts').map((code, i) => ({
    name: `typescript-${i + 1}`,
    document: `${document}, program ${i + 1}`,
    code,
    isRun: true,
    prints: outputs[i]!,
  }));
}

/** Returns the programs of the guide on embedding. The second one uses the broker of the first, and waits for events without end. */
export function embeddingPrograms(): DocumentedProgram[] {
  const document = 'docs/reference/embedding.md';
  const [start, operate] = blocksOf(document, 'ts');
  const given = `import type { RunningBroker } from '@signalbox/daemon';\ndeclare const broker: RunningBroker;\n`;
  return [
    { name: 'embedding', document, code: start!, isRun: false },
    { name: 'operating', document, code: `${given}${operate}`, isRun: false },
  ];
}

/** Returns the code blocks of a language. */
function blocksOf(document: string, language: string): string[] {
  const text = readFileSync(join(root, document), 'utf8');
  return [...text.matchAll(/^```(.*?)\n(.*?)^```$/gms)]
    .filter(([, named]) => named === language)
    .map(([, , code]) => code!);
}
