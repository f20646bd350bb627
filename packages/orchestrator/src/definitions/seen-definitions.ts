import { createHash } from 'node:crypto';
import type { HostedDefinition, SeenDefinition } from '@signalbox/mcp-host';

/** Lists the withheld definitions in the form in which they are accepted. */
export function withheldAmong(definitions: readonly HostedDefinition[]): SeenDefinition[] {
  return definitions.flatMap(({ kind, name, state, offered }) =>
    offered && (state === 'changed' || state === 'new') ? [{ kind, name, hash: offered.hash }] : [],
  );
}

/** Returns a short text that identifies these definitions, each as its server offers it. Another set has another text. */
export function seenText(definitions: readonly SeenDefinition[]): string {
  const keys = definitions.map(({ kind, name, hash }) => JSON.stringify([kind, name, hash])).sort();
  return createHash('sha256').update(JSON.stringify(keys)).digest('base64url').slice(0, 22);
}
