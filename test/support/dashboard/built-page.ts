import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const bundle = fileURLToPath(new URL('../../../apps/cli/bundle/', import.meta.url));

/** Returns the directory with the page that the newest bundle of the command serves. */
export function builtPage(): string {
  const pointer = readFileSync(join(bundle, 'main.js'), 'utf8');
  return join(bundle, dirname(/'(.+)'/.exec(pointer)![1]!), 'ui');
}
