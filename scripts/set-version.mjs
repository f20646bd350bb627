import { execFileSync } from 'node:child_process';
import { globSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/**
 * Gives all workspaces a version, also where they name one another, and the lockfile: npm run set-version -- VERSION
 * npm's own `npm version --workspaces` leaves the dependencies between workspaces as they are.
 */
const root = fileURLToPath(new URL('..', import.meta.url));
const [version = ''] = process.argv.slice(2);
if (!/^\d+\.\d+\.\d+(-[\w.]+)?$/.test(version)) {
  process.stderr.write(`'${version}' is no version; write one as in 1.2.3 or 1.2.3-rc.1\n`);
  process.exit(2);
}

const readJson = (file) => JSON.parse(readFileSync(join(root, file), 'utf8'));
const { workspaces } = readJson('package.json');
const folders = ['.', ...globSync(workspaces, { cwd: root })];
const files = folders.map((folder) => join(folder, 'package.json'));
const manifests = new Map(files.map((file) => [file, readJson(file)]));
const ours = new Set([...manifests.values()].map(({ name }) => name));

for (const [file, manifest] of manifests) {
  manifest.version = version;
  for (const kind of ['dependencies', 'devDependencies', 'peerDependencies', 'optionalDependencies']) {
    for (const name of Object.keys(manifest[kind] ?? {})) if (ours.has(name)) manifest[kind][name] = version;
  }
  writeFileSync(join(root, file), `${JSON.stringify(manifest, null, 2)}\n`);
}
execFileSync('npm', ['install', '--package-lock-only', '--ignore-scripts', '--no-audit', '--no-fund'], {
  cwd: root,
  stdio: ['ignore', 'ignore', 'inherit'],
});
process.stdout.write(`${manifests.size} workspaces have version ${version}\n`);
