import { type AuditReport, frameLimits } from '@signalbox/protocol';
import type { AuditTrail } from './audit-trail.ts';

/** The trail that takes the entries. */
export type EntryTrail = Pick<AuditTrail, 'record'>;

/** The most texts that wait to be named; the others are counted. An entry has no room for more. */
const maxWaiting = 20;
/** The length of an entry's text for the number of things that it does not name. */
const countLength = 30;
/** The most entries in a period of time. A server that changes all the time must not fill the audit log. */
const maxEntries = 10;
const stretchMs = 10 * 60_000;

/** Makes entries of one code, each of which names several things. */
export interface BoundedEntries extends Disposable {
  /** Reports these things, in one entry. After many entries, further things wait and are one entry. */
  add(texts: readonly string[]): void;
}

/** Creates entries of a code for the audit log. When the result is disposed, it reports what waits. */
export function boundedEntries(
  trail: EntryTrail,
  code: AuditReport['code'],
  monotonic: () => number,
): BoundedEntries {
  let waiting: string[] = [];
  let unnamed = 0;
  let timer: NodeJS.Timeout | undefined;
  const entriesAt: number[] = [];

  const report = (): void => {
    timer = undefined;
    entriesAt.push(monotonic());
    if (entriesAt.length > maxEntries) entriesAt.shift();
    trail.record({ code, detail: detailOf(waiting, unnamed) });
    waiting = [];
    unnamed = 0;
  };
  return {
    add(added) {
      const texts = [...waiting, ...added];
      waiting = texts.slice(0, maxWaiting);
      unnamed += texts.length - waiting.length;
      if (timer) return;
      const waitMs = entriesAt.length < maxEntries ? 0 : entriesAt[0]! + stretchMs - monotonic();
      if (waitMs <= 0) report();
      else timer = setTimeout(report, waitMs).unref();
    },
    [Symbol.dispose]() {
      clearTimeout(timer);
      if (waiting.length > 0) report();
    },
  };
}

/** Names as many texts as fit, and counts the others. */
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
