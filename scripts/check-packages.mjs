import { globSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, matchesGlob } from 'node:path';
import { checkPackage, createPackageFromTarballData } from '@arethetypeswrong/core';
import { publint } from 'publint';
import { formatMessage } from 'publint/utils';
import { parseAst } from 'rolldown/parseAst';
import { packPackages, root } from './packing/pack-packages.mjs';

/**
 * Packs every package that can be published, as it is built now, and fails if a tarball lacks a file, holds a needless
 * one, or exports something that Node or TypeScript does not find: node scripts/check-packages.mjs. It also fails if there are more packages
 * than a newcomer can keep in mind, and prints how many files the product has.
 */
const mostPackages = 11;
const folder = mkdtempSync(join(tmpdir(), 'signalbox-tarballs-'));
const problems = [];
let packages = [];
try {
  packages = await packPackages(folder);
  for (const packed of packages) {
    const found = [
      ...wrongFiles(packed),
      ...wrongSideEffects(packed),
      ...wrongDependencies(packed),
      ...(await wrongManifest(packed)),
      ...(await wrongTypes(packed)),
    ];
    problems.push(...found.map((problem) => `${packed.name}: ${problem}`));
  }
} finally {
  rmSync(folder, { recursive: true });
}
const workspaces = globSync('packages/*/package.json', { cwd: root });
if (workspaces.length > mostPackages)
  problems.push(
    `there are ${workspaces.length} packages, and ${mostPackages} may be: add a folder with an entry of its own to one of them`,
  );
if (problems.length > 0) {
  process.stderr.write(`${problems.join('\n')}\n`);
  process.exitCode = 1;
}
const size = packages.reduce((sum, { size }) => sum + size, 0);
const sources = globSync(['packages/*/src/**/*.ts', 'apps/*/src/**/*.{ts,tsx}'], { cwd: root });
const product = sources.filter((file) => !file.includes('.test.'));
process.stdout.write(
  `packages: ${workspaces.length}, and ${product.length} files of the product; ${packages.length} tarballs of ${Math.ceil(size / 1000)} kB together\n`,
);

function wrongFiles({ files }) {
  const unwanted = files.filter((file) => /\.test\.|\.tsbuildinfo$|(^|\/)(tests?|recorded)\//.test(file));
  const missing = ['LICENSE', 'README.md'].filter((name) => !files.includes(name));
  return [
    ...unwanted.map((file) => `${file} serves no user; leave it out with 'files' in package.json`),
    ...missing.map((name) => `${name} is missing`),
  ];
}

/** Lists dependencies on workspaces that are not published, or not in this version: they could not be installed. */
function wrongDependencies({ manifest }) {
  const versions = new Map(packages.map(({ manifest: { name, version } }) => [name, version]));
  return Object.entries(manifest.dependencies ?? {})
    .filter(([name]) => name.startsWith('@signalbox/'))
    .filter(([name, version]) => versions.get(name) !== version)
    .map(([name, version]) => `it depends on ${name} ${version}, and that is not among the packages`);
}

/** Lists wrong `sideEffects`. Bundlers drop an unused import of a module that it does not name, so such a module must only declare. */
function wrongSideEffects({ manifest, workspace, files }) {
  const named = manifest.sideEffects || [];
  return files
    .filter((file) => file.startsWith('dist/') && file.endsWith('.js'))
    .filter((file) => !named.some((pattern) => matchesGlob(file, pattern)))
    .filter((file) => doesSomething(readFileSync(join(workspace, file), 'utf8')))
    .map((file) => `${file} does something when it is loaded; name it under 'sideEffects' in package.json`);
}

function doesSomething(code) {
  return parseAst(code).body.some(
    ({ type, specifiers }) =>
      !/^(Import|Export\w*|Function|Class|Variable)Declaration$/.test(type) ||
      (type === 'ImportDeclaration' && specifiers.length === 0),
  );
}

async function wrongManifest({ manifest, tarball }) {
  const { messages } = await publint({ pack: { tarball: arrayBufferOf(tarball) }, strict: true });
  return messages.map((message) => `publint: ${formatMessage(message, manifest, { color: false })}`);
}

/**
 * Types are checked as Node's ES modules and bundlers find them. Packages of ES modules only have none for TypeScript's
 * old `node10` resolution, and a CommonJS program can `require` them, as every Node that they support loads ES modules so.
 */
async function wrongTypes({ manifest, tarball }) {
  if (manifest.exports?.['.'] === undefined) return [];
  const result = await checkPackage(createPackageFromTarballData(readFileSync(tarball)));
  if (result.types === false) return ['attw: it has no types'];
  return result.problems
    .filter(({ kind, resolutionKind }) => kind !== 'CJSResolvesToESM' && resolutionKind !== 'node10')
    .filter(({ resolutionOption }) => resolutionOption !== 'node10')
    .map(({ kind, trace, ...facts }) => `attw: ${kind} ${JSON.stringify(facts)}`);
}

function arrayBufferOf(file) {
  const { buffer, byteOffset, byteLength } = readFileSync(file);
  return buffer.slice(byteOffset, byteOffset + byteLength);
}
