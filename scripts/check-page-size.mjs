import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import { pageFiles } from './bundling/page-files.mjs';

/**
 * Fails if a browser must load more than 60 KB, compressed, to show the dashboard, or more than 30 KB later, for its charts. Run:
 * node scripts/check-page-size.mjs
 */
const most = { 'at first': 60_000, 'for charts': 30_000 };

const root = fileURLToPath(new URL('..', import.meta.url));
const files = await pageFiles(join(root, 'apps/dashboard'));
const size = { 'at first': 0, 'for charts': 0 };
for (const { content, isLater } of files)
  size[isLater ? 'for charts' : 'at first'] += gzipSync(content).length;
for (const [when, bytes] of Object.entries(size)) {
  process.stdout.write(`page: ${bytes} of ${most[when]} bytes ${when}, compressed\n`);
  if (bytes > most[when]) process.exitCode = 1;
}
// Then what draws charts is part of what is loaded at first.
if (size['for charts'] === 0) throw new Error('no file of the page is loaded later: the charts are in it');
