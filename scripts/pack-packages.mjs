import { execFileSync } from 'node:child_process';
import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { packPackages, root } from './packing/pack-packages.mjs';

/** Builds and packs every package that can be published: node scripts/pack-packages.mjs --to DIR. Publishes nothing. */
const { values } = parseArgs({ options: { to: { type: 'string' } } });
if (values.to === undefined) {
  process.stderr.write('pack-packages needs a folder for the tarballs: npm run pack -- --to DIR\n');
  process.exit(2);
}
execFileSync('npm', ['run', 'build'], { cwd: root, stdio: ['ignore', 'ignore', 'inherit'] });
for (const { tarball, files, size } of await packPackages(resolve(process.env.INIT_CWD ?? '', values.to))) {
  process.stdout.write(`${tarball}  ${files.length} files, ${Math.ceil(size / 1000)} kB\n`);
}
