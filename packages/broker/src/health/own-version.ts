import { readFile } from 'node:fs/promises';

/**
 * Returns the version of the running package: the broker's, or that of the command into which it is bundled. Both have their modules two
 * levels below `package.json`.
 */
export async function ownVersion(): Promise<string> {
  const file = new URL('../../package.json', import.meta.url);
  return (JSON.parse(await readFile(file, 'utf8')) as { version: string }).version;
}
