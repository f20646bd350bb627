import { execFile } from 'node:child_process';
import {
  existsSync,
  globSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
} from 'node:fs';
import { availableParallelism } from 'node:os';
import { dirname, join, relative, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

export const root = fileURLToPath(new URL('../..', import.meta.url));

/** Returns the workspaces that can be published: the folder and the manifest of each. The private ones are left out. */
export function publishedWorkspaces() {
  const { workspaces } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  return globSync(workspaces, { cwd: root })
    .filter((folder) => existsSync(join(root, folder, 'package.json')))
    .map((folder) => ({
      folder,
      manifest: JSON.parse(readFileSync(join(root, folder, 'package.json'), 'utf8')),
    }))
    .filter(({ manifest }) => !manifest.private)
    .sort((a, b) => a.manifest.name.localeCompare(b.manifest.name));
}

/**
 * Packs every published workspace, as it is built now, into the folder `to`. Returns for each package its name, its
 * manifest, its workspace, the path of its tarball, the paths of the files in it, and its sizes in bytes.
 */
export async function packPackages(to) {
  // Hard links work only within one file system.
  const cache = join(root, 'node_modules/.cache');
  mkdirSync(cache, { recursive: true });
  const staging = mkdtempSync(join(cache, 'pack-'));
  try {
    const staged = publishedWorkspaces().map(({ folder, manifest }) => ({
      manifest,
      workspace: join(root, folder),
      folder: stage(join(root, folder), join(staging, folder)),
    }));
    mkdirSync(to, { recursive: true });
    const processes = Math.min(availableParallelism(), staged.length);
    const shares = Array.from({ length: processes }, (_, i) =>
      staged.filter((_, at) => at % processes === i),
    );
    const packed = (await Promise.all(shares.map((share) => npmPack(share, to)))).flat();
    return packed.sort((a, b) => a.name.localeCompare(b.name));
  } finally {
    rmSync(staging, { recursive: true });
  }
}

/**
 * Links the files of a package into a folder of its own, with the license: npm takes from there what `files` in the
 * manifest names. Leftovers of earlier builds in the workspace stay behind: files of `dist` without a source, and bundles
 * other than the newest.
 */
function stage(workspace, folder) {
  const names = readdirSync(workspace).filter((name) => name !== 'node_modules');
  const paths = names.flatMap((name) => filesOf(workspace, name));
  for (const path of paths.filter((path) => isOfBuild(workspace, path.split(sep)))) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    linkSync(join(workspace, path), join(folder, path));
  }
  linkSync(join(root, 'LICENSE'), join(folder, 'LICENSE'));
  return folder;
}

function filesOf(workspace, name) {
  if (!statSync(join(workspace, name)).isDirectory()) return [name];
  return readdirSync(join(workspace, name), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => relative(workspace, join(parentPath, name)));
}

function isOfBuild(workspace, [top, ...path]) {
  if (top === 'dist') {
    return existsSync(join(workspace, 'src', ...path).replace(/\.(js|d\.ts)(\.map)?$/, '.ts'));
  }
  if (top === 'bundle') {
    const newest = /'\.\/(\w+)\//.exec(readFileSync(join(workspace, 'bundle/main.js'), 'utf8'))?.[1];
    return path[0] === 'main.js' || path[0] === newest;
  }
  return true;
}

async function npmPack(packages, to) {
  const folders = packages.map(({ folder }) => folder);
  const { stdout } = await promisify(execFile)(
    'npm',
    ['pack', '--json', '--ignore-scripts', '--pack-destination', to, ...folders],
    { cwd: root, maxBuffer: 64 * 1024 * 1024 },
  );
  const sources = new Map(packages.map((source) => [source.manifest.name, source]));
  return Object.values(JSON.parse(stdout)).map(({ name, filename, files, size, unpackedSize }) => ({
    name,
    manifest: sources.get(name).manifest,
    workspace: sources.get(name).workspace,
    tarball: join(to, filename),
    files: files.map(({ path }) => path),
    size,
    unpackedSize,
  }));
}
