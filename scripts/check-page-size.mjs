import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import { pageFiles } from './bundling/page-files.mjs';

/** Fails if a browser must load more than 60 KB, compressed, to show the dashboard. Run: node scripts/check-page-size.mjs */
const most = 60_000;

const root = fileURLToPath(new URL('..', import.meta.url));
const files = await pageFiles(join(root, 'apps/dashboard'));
const size = files.reduce((sum, { content }) => sum + gzipSync(content).length, 0);
process.stdout.write(`page: ${size} of ${most} bytes, compressed\n`);
if (size > most) process.exitCode = 1;
