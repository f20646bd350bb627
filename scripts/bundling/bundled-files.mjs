import { relative } from 'node:path';
import { rolldown } from 'rolldown';

/**
 * The modules that stay outside of bundles. Native code can't be bundled. The driver of PostgreSQL has packages without a license. The
 * API of OpenTelemetry must be the copy with which a user's preloaded SDK has registered itself.
 */
const external = ['better-sqlite3', 'pg', 'bufferutil', 'utf-8-validate', '@opentelemetry/api'];

/**
 * Bundles programs from their sources and returns the files, each a name, its content and its modules. `input` gives each program or
 * module the name that its file gets; `format` is that of the files, `esm` or `cjs`. The source maps hold for files in `dir`.
 * A warning of the bundler is a failure.
 */
export async function bundledFiles({ root, input, dir, format }) {
  const bundle = await rolldown({
    cwd: root,
    input,
    external,
    platform: 'node',
    tsconfig: false,
    resolve: {
      conditionNames: ['@signalbox/source', 'module', 'node', 'import', 'default'],
      // Its main file asks for the others by a variable, which no bundler follows.
      alias: { 'jsonc-parser': 'jsonc-parser/lib/esm/main.js' },
    },
    onLog(level, { message }) {
      if (level === 'warn') throw new Error(message);
    },
  });
  const { output } = await bundle.generate({
    format,
    ...(dir !== undefined && { dir }),
    // Node reads the maps only with --enable-source-maps. The sources lie in the checkout, so the maps leave them out.
    sourcemap: dir !== undefined,
    sourcemapExcludeSources: true,
    // One character beyond Latin-1 makes V8 keep the whole file with two bytes a character, in each process.
    comments: false,
    minify: { compress: false, mangle: false, codegen: { removeWhitespace: false, asciiOnly: true } },
    chunkFileNames: (chunk) => `${chunkName(root, chunk)}.js`,
  });
  await bundle.close();
  return output.map((file) => ({
    name: file.fileName,
    content: file.type === 'chunk' ? file.code : file.source,
    modules: file.type === 'chunk' ? file.moduleIds : [],
  }));
}

/** Names a chunk by the module that leads into it, for readers of a stack trace: `agents-agents`, `store-sqlite-database`. */
function chunkName(root, { name, facadeModuleId, moduleIds }) {
  const module = relative(root, facadeModuleId ?? moduleIds.at(-1) ?? name);
  return module
    .replace('\0', '')
    .replace(/^.*node_modules\/(@[^/]+\/)?([^/]+)\/.*$/, '$2')
    .replace(/^(apps\/cli|packages)\//, '')
    .replace(/(^|\/)src\//, '$1')
    .replace(/(\/index)?\.\w+$/, '')
    .replaceAll('/', '-');
}
