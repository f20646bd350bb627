import type { McpHost, WithheldDefinition } from '@signalbox/mcp-host';
import { boundedEntries, type EntryTrail } from './bounded-entries.ts';

/** Reports to the audit log which definitions of pinned servers are withheld. */
export function auditChangedDefinitions(
  trail: EntryTrail,
  host: Pick<McpHost, 'onDefinitionsWithheld'>,
  monotonic: () => number,
): Disposable {
  const entries = boundedEntries(trail, 'definition_changed', monotonic);
  const remove = host.onDefinitionsWithheld((withheld) => entries.add(withheld.map(textOf)));
  return {
    [Symbol.dispose]() {
      remove();
      entries[Symbol.dispose]();
    },
  };
}

function textOf({ server, kind, name, what, hash }: WithheldDefinition): string {
  const which = kind === 'instructions' ? kind : `${kind} ${name}`;
  return `${which} of server '${server}' ${what === 'new' ? 'is new' : 'has changed'}: ${hash}`;
}
