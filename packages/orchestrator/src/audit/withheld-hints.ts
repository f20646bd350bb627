import type { McpHost, WithheldHints } from '@signalbox/mcp-host';
import { boundedEntries, type EntryTrail } from './bounded-entries.ts';

/** Reports to the audit log which hints the host withholds. */
export function auditWithheldHints(
  trail: EntryTrail,
  host: Pick<McpHost, 'onHintsWithheld'>,
  monotonic: () => number,
): Disposable {
  const entries = boundedEntries(trail, 'hints_withheld', monotonic);
  const remove = host.onHintsWithheld((withheld) => entries.add(withheld.map(textOf)));
  return {
    [Symbol.dispose]() {
      remove();
      entries[Symbol.dispose]();
    },
  };
}

function textOf({ server, tool, hints }: WithheldHints): string {
  return `${tool} of server '${server}': ${hints.join(', ')}`;
}
