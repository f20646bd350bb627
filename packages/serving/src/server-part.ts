import { serverPart } from '@signalbox/protocol/tool-label';

/**
 * Finds two servers whose tools cannot be distinguished by name: a pattern such as `mcp_files__*` for the tools of the first would match
 * tools of the second, too. Returns `undefined` if there are none.
 */
export function clashingServers(names: readonly string[]): { first: string; second: string } | undefined {
  const sorted = names
    .map((name) => ({ name, prefix: `${serverPart(name)}__` }))
    .sort((a, b) => (a.prefix < b.prefix ? -1 : 1));
  for (const [at, { name, prefix }] of sorted.entries()) {
    const next = sorted[at + 1];
    // All names that begin with a prefix come right after it.
    if (next?.prefix.startsWith(prefix)) return { first: name, second: next.name };
  }
  return undefined;
}
