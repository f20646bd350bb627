import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { bundledFiles } from './bundling/bundled-files.mjs';
import { pageFiles } from './bundling/page-files.mjs';
import { publishBuild } from './bundling/publish-build.mjs';
import { thirdPartyLicenses } from './bundling/third-party-licenses.mjs';

/**
 * Bundles the command signalbox and the page of its dashboard from their sources: node scripts/bundle.mjs [--to DIR]
 *
 * Each build has a folder of its own, and `main.js` beside the folders loads the newest build. A process that still runs
 * when the next build is made loads its later parts from its own build.
 */
const root = fileURLToPath(new URL('..', import.meta.url));
const bundles = join(root, 'apps/cli/bundle');
const { values } = parseArgs({ options: { to: { type: 'string', default: bundles } } });

/** The command, and the programs that it starts as threads or processes of their own and looks for beside itself. */
const input = {
  main: 'apps/cli/src/main.ts',
  'scripted-agent': 'apps/cli/src/demo/scripted-agent.ts',
  'copy-worker': 'packages/store/src/sqlite/backup/copy-worker.ts',
  'cleanup-main': 'packages/worker/src/runner/cleanup/cleanup-main.ts',
};

const [program, page] = await Promise.all([
  // Node loads a hundred CommonJS files with a seventh less processor time than a hundred modules.
  bundledFiles({ root, input, dir: join(bundles, 'build'), format: 'cjs' }),
  pageFiles(join(root, 'apps/dashboard')),
]);
const licenses = thirdPartyLicenses([...program, ...page].flatMap(({ modules }) => modules));
const files = [
  ...program,
  ...page.map(({ name, content }) => ({ name: `ui/${name}`, content })),
  { name: 'third-party-licenses.txt', content: licenses },
  { name: 'package.json', content: '{"type":"commonjs"}\n' },
];
publishBuild(resolve(values.to), files, {
  name: 'main.js',
  contentFor: (build) => `export { done } from './${build}/main.js';\n`,
});
