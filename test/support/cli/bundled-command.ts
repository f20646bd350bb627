import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

/** Bundles the command before the tests: they start what users start. */
export default async function bundleCommand(): Promise<void> {
  const script = fileURLToPath(new URL('../../../scripts/bundle.mjs', import.meta.url));
  await promisify(execFile)(process.execPath, [script]);
}
