import type { McpHost, WithheldHints } from '@signalbox/mcp-host';
import { frameLimits } from '@signalbox/protocol';
import type { AuditTrail } from './audit-trail.ts';

/** The tools that wait to be named; the others are counted. An entry has no room for more. */
const maxWaiting = 20;
/** The space in an entry for the number of tools that it does not name. */
const countLength = 30;
/** Entries that are made in a stretch of time. A server that changes its hints all the time must not fill the audit log. */
const maxEntries = 10;
const stretchMs = 10 * 60_000;

/** Reports to the audit log which hints the host withholds. After many entries, further hints wait and are one entry. */
export function auditWithheldHints(
  trail: Pick<AuditTrail, 'record'>,
  host: Pick<McpHost, 'onHintsWithheld'>,
  monotonic: () => number,
): Disposable {
  let waiting: string[] = [];
  let unnamed = 0;
  let timer: NodeJS.Timeout | undefined;
  const entriesAt: number[] = [];

  const report = (): void => {
    timer = undefined;
    entriesAt.push(monotonic());
    if (entriesAt.length > maxEntries) entriesAt.shift();
    trail.record({ code: 'hints_withheld', detail: detailOf(waiting, unnamed) });
    waiting = [];
    unnamed = 0;
  };
  const remove = host.onHintsWithheld((withheld) => {
    const texts = [...waiting, ...withheld.map(textOf)];
    waiting = texts.slice(0, maxWaiting);
    unnamed += texts.length - waiting.length;
    if (timer) return;
    const waitMs = entriesAt.length < maxEntries ? 0 : entriesAt[0]! + stretchMs - monotonic();
    if (waitMs <= 0) report();
    else timer = setTimeout(report, waitMs).unref();
  });
  return {
    [Symbol.dispose]() {
      remove();
      clearTimeout(timer);
      if (waiting.length > 0) report();
    },
  };
}

function textOf({ server, tool, hints }: WithheldHints): string {
  return `${tool} of server '${server}': ${hints.join(', ')}`;
}

/** Names as many tools as fit, and counts the others. */
function detailOf(texts: readonly string[], unnamed: number): string {
  const room = frameLimits.auditDetailLength - countLength;
  let detail = texts[0]!.slice(0, room);
  let named = 1;
  for (const text of texts.slice(1)) {
    if (detail.length + 2 + text.length > room) break;
    detail += `; ${text}`;
    named++;
  }
  const others = texts.length - named + unnamed;
  return others === 0 ? detail : `${detail}; and ${others} more`;
}
