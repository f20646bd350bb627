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
import { dirname, join } from 'node:path';

const keptBuilds = 3;

/**
 * Puts a build into a folder of its own in `folder`, named by its content. Then replaces the file that says which build
 * is the newest: `pointer.name`, with the content `pointer.contentFor(build)`. The newest builds are kept, because a
 * process may still load parts of one of them.
 */
export function publishBuild(folder, files, pointer) {
  const build = contentHash(files);
  mkdirSync(folder, { recursive: true });
  if (existsSync(join(folder, build))) utimesSync(join(folder, build), new Date(), new Date());
  else writeBuild(folder, build, files);
  const written = join(folder, `.${process.pid}-${pointer.name}`);
  writeFileSync(written, pointer.contentFor(build));
  renameSync(written, join(folder, pointer.name));
  removeOldBuilds(folder);
}

function contentHash(files) {
  const hash = createHash('sha256');
  for (const { name, content } of files) hash.update(`${name}\n${content}\n`);
  return hash.digest('hex').slice(0, 12);
}

/** Writes a build whole or not at all. */
function writeBuild(folder, build, files) {
  const written = mkdtempSync(join(folder, '.new-'));
  for (const { name, content } of files) {
    mkdirSync(dirname(join(written, name)), { recursive: true });
    writeFileSync(join(written, name), content);
  }
  // Other users may run it, as they may run the rest of the checkout.
  chmodSync(written, 0o777 & ~process.umask());
  try {
    renameSync(written, join(folder, build));
  } catch (error) {
    rmSync(written, { recursive: true });
    // Another run may have published the same build meanwhile: that one is as good.
    if (!existsSync(join(folder, build))) throw error;
  }
}

function removeOldBuilds(folder) {
  const builds = readdirSync(folder, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => join(folder, name))
    .sort((a, b) => statSync(b).mtimeMs - statSync(a).mtimeMs);
  for (const build of builds.slice(keptBuilds)) rmSync(build, { recursive: true, force: true });
}
