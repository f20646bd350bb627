import { readFileSync } from 'node:fs';

/** Returns the version of this command line from its package. */
export function ownVersion(): string {
  const file = new URL('../../package.json', import.meta.url);
  return (JSON.parse(readFileSync(file, 'utf8')) as { version: string }).version;
}
