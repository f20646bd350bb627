import { createHash } from 'node:crypto';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { rolldown } from 'rolldown';

/**
 * Bundles the command signalbox from its sources: node scripts/bundle.mjs [--to DIR]
 *
 * Each build has a folder of its own, named by its content, and `main.js` beside the folders loads the newest build. A
 * process that still runs when the next build is made loads its later parts from its own build.
 */
const root = fileURLToPath(new URL('..', import.meta.url));
const ownBundles = join(root, 'apps/cli/bundle');
const { values } = parseArgs({ options: { to: { type: 'string', default: ownBundles } } });
const bundles = resolve(values.to);
const keptBuilds = 3;

/** The command, and the programs that it starts as threads or processes of their own and looks for beside itself. */
const input = {
  main: 'apps/cli/src/main.ts',
  'scripted-agent': 'apps/cli/src/demo/scripted-agent.ts',
  'copy-worker': 'packages/store/src/sqlite/backup/copy-worker.ts',
  'cleanup-main': 'packages/worker/src/runner/cleanup/cleanup-main.ts',
};

/** Native code can't be bundled. */
const external = ['better-sqlite3', 'bufferutil', 'utf-8-validate'];

const files = await bundledFiles();
const build = contentHash(files);
publish(build, files);
removeOldBuilds();

/** Returns the files of one build. A warning of the bundler is a failure. */
async function bundledFiles() {
  const bundle = await rolldown({
    cwd: root,
    input,
    external,
    platform: 'node',
    tsconfig: false,
    resolve: { conditionNames: ['@signalbox/source', 'module', 'node', 'import', 'default'] },
    onLog(level, { message }) {
      if (level === 'warn') throw new Error(message);
    },
  });
  const { output } = await bundle.generate({
    format: 'esm',
    // The maps name the sources as seen from a build's folder.
    dir: join(ownBundles, 'build'),
    // Node reads the maps only with --enable-source-maps. The sources lie beside the bundle.
    sourcemap: true,
    sourcemapExcludeSources: true,
    chunkFileNames: (chunk) => `${chunkName(chunk)}.js`,
  });
  await bundle.close();
  return output.map((file) => ({
    name: file.fileName,
    content: file.type === 'chunk' ? file.code : file.source,
  }));
}

/** Names a chunk by the module that leads into it, for readers of a stack trace: `agents-agents`, `store-sqlite-database`. */
function chunkName({ name, facadeModuleId, moduleIds }) {
  const module = relative(root, facadeModuleId ?? moduleIds.at(-1) ?? name);
  return module
    .replace('\0', '')
    .replace(/^.*node_modules\/(@[^/]+\/)?([^/]+)\/.*$/, '$2')
    .replace(/^(apps\/cli|packages)\//, '')
    .replace(/(^|\/)src\//, '$1')
    .replace(/(\/index)?\.\w+$/, '')
    .replaceAll('/', '-');
}

function contentHash(all) {
  const hash = createHash('sha256');
  for (const { name, content } of all) hash.update(`${name}\n${content}\n`);
  return hash.digest('hex').slice(0, 12);
}

/** Writes a build beside the others, whole or not at all, and then makes it the one that is started. */
function publish(id, all) {
  mkdirSync(bundles, { recursive: true });
  const folder = join(bundles, id);
  if (existsSync(folder)) {
    utimesSync(folder, new Date(), new Date());
  } else {
    const written = mkdtempSync(join(bundles, '.new-'));
    for (const { name, content } of all) writeFileSync(join(written, name), content);
    // Others may run it, as they may run what they find in the rest of the checkout.
    chmodSync(written, 0o777 & ~process.umask());
    rename(written, folder);
  }
  const main = join(bundles, `.main-${process.pid}.js`);
  writeFileSync(main, `import './${id}/main.js';\n`);
  renameSync(main, join(bundles, 'main.js'));
}

/** Another run may have published the same build meanwhile: that one is as good. */
function rename(written, folder) {
  try {
    renameSync(written, folder);
  } catch (error) {
    rmSync(written, { recursive: true });
    if (!existsSync(folder)) throw error;
  }
}

function removeOldBuilds() {
  const builds = readdirSync(bundles, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => join(bundles, name))
    .sort((a, b) => statSync(b).mtimeMs - statSync(a).mtimeMs);
  for (const folder of builds.slice(keptBuilds)) rmSync(folder, { recursive: true, force: true });
}
