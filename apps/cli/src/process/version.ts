import { readFileSync } from 'node:fs';

/** Returns the version of this command line from its package. */
export function ownVersion(): string {
  return ownPackage().version;
}

/** Returns the versions of Node that it runs on, as in `>=22.12`. */
export function ownNodeRange(): string {
  return ownPackage().engines.node;
}

function ownPackage(): { version: string; engines: { node: string } } {
  return JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'));
}
