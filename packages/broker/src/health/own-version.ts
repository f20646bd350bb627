import { readFile } from 'node:fs/promises';

/**
 * Returns the version of the package that this runs from: the broker's, or that of the command it is bundled into. Both
 * keep their modules two levels below `package.json`.
 */
export async function ownVersion(): Promise<string> {
  const file = new URL('../../package.json', import.meta.url);
  return (JSON.parse(await readFile(file, 'utf8')) as { version: string }).version;
}
