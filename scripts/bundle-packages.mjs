import { copyFileSync, mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { bundledFiles } from './bundling/bundled-files.mjs';
import { publishBuild } from './bundling/publish-build.mjs';

/**
 * Bundles the packages for the programs of our tests, which then start in a third of the time: node
 * scripts/bundle-packages.mjs. The file `packages.json` says where the module of each name is.
 */
const root = fileURLToPath(new URL('..', import.meta.url));
const folder = join(root, 'node_modules/.cache/packages');
const bundles = join(folder, 'bundle');

/** The libraries that programs of tests load beside our packages, or that the packages look for beside themselves. */
const libraries = ['@modelcontextprotocol/server', '@modelcontextprotocol/server/stdio'];
const besides = {
  'copy-worker': 'packages/store/src/sqlite/backup/copy-worker.ts',
  'cleanup-main': 'packages/worker/src/runner/cleanup/cleanup-main.ts',
};

const modules = [...ownModules(), ...libraries.map((name) => ({ name, source: name }))];
const input = {
  ...besides,
  ...Object.fromEntries(modules.map(({ name, source }) => [fileOf(name), source])),
};
const files = await bundledFiles({ root, input, format: 'esm' });
mkdirSync(folder, { recursive: true });
// The broker reads its version two levels above its modules.
copyFileSync(join(root, 'packages/broker/package.json'), join(folder, 'package.json'));
publishBuild(bundles, files, {
  name: 'packages.json',
  contentFor: (build) =>
    JSON.stringify(Object.fromEntries(modules.map(({ name }) => [name, `./${build}/${fileOf(name)}.js`]))),
});

/** Returns the modules that our packages export for programs, each with its name and its source. */
function ownModules() {
  const packages = join(root, 'packages');
  return readdirSync(packages)
    .filter((name) => name !== 'testing')
    .flatMap((directory) => {
      const { name, exports } = JSON.parse(readFileSync(join(packages, directory, 'package.json'), 'utf8'));
      return Object.entries(exports)
        .filter(([path]) => path !== './conformance' && path !== './package.json')
        .map(([path, { '@signalbox/source': source }]) => ({
          name: name + path.slice(1),
          source: join('packages', directory, source),
        }));
    });
}

function fileOf(name) {
  return name.replace('@', '').replaceAll('/', '-');
}
