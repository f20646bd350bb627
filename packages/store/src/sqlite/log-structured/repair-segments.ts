import { hasLostBody, type LoggedMessage } from '../../logged-message.ts';
import { DamageFound } from './damage-found.ts';
import type { PendingCounts } from './pending-counts.ts';
import type { PendingRange, PendingRanges } from './pending-ranges.ts';
import type { Segment } from './segment.ts';
import type { Segments } from './segments.ts';

/** The damage that a repair found in one segment. */
export interface SegmentDamage {
  segment: number;
  /** True if all its messages were readable. */
  isWhole: boolean;
  /** The number of its messages that are pending after the repair. */
  pending: number;
  /** False if it was unknown which of its messages are pending, so that settled ones may come again. */
  isPendingKnown: boolean;
  /** The pending messages that are no longer readable: their number in an inbox, between two sequence numbers. */
  lost: { inbox: string; first: number; last: number; messages: number }[];
}

/** The damage that a repair found in total. `counts` is the number of damaged rows of pending counts. */
export interface StoreDamage {
  segments: SegmentDamage[];
  counts: number;
}

/** The tables that tell which messages are pending in segments. */
export interface PendingTables {
  segments: Segments;
  ranges: PendingRanges;
  pending: {
    readonly counts: PendingCounts;
    /** Writes pending messages into new segments. */
    add(messages: readonly LoggedMessage[]): void;
    /** Returns the messages of a segment that are still pending. */
    messagesIn(segment: Segment): LoggedMessage[];
  };
}

/** A segment that was read, and the problem of it if there is one. */
export interface CheckedSegment {
  messages: number;
  problem?: string;
}

/**
 * Repairs the damaged segments and ranges, and the segments of `found` in any case: each is written again with its readable messages. If it
 * is unknown which messages of a segment are pending, all of them become pending, since a message that comes twice is better than a lost
 * one. Damaged counts are counted again. Returns the damage. Throws {@link DamageFound}.
 */
export function repairSegments(tables: PendingTables, found: ReadonlySet<number>): StoreDamage {
  const {
    segments,
    ranges: table,
    pending: { counts },
  } = tables;
  const { ranges, damaged: damagedRanges } = table.check();
  const rangesOf = Map.groupBy(ranges, ({ segment }) => segment);
  const damaged = new Set([...segments.damaged(pendingOf(rangesOf)), ...found]);
  if (damagedRanges > 0) table.dropDamaged();
  const damage = [...damaged].map((number) => {
    const known = segments.get(number);
    const own = rangesOf.get(number) ?? [];
    const isKnown = known !== undefined && known.pending === sumOf(own);
    return repairSegment(tables, { number, known, ranges: isKnown ? own : undefined });
  });
  const damagedCounts = counts.countDamaged();
  if (damaged.size + damagedRanges + damagedCounts > 0) recount(tables);
  return { segments: damage, counts: damagedCounts };
}

/** Reads all segments, pending and settled. Yields the number of messages in each, and its problem if there is one. */
export function* verifySegments({
  segments,
  ranges: table,
  pending,
}: PendingTables): Iterable<CheckedSegment> {
  const { ranges, damaged } = table.check();
  if (damaged > 0) yield { messages: 0, problem: `${damaged} ranges of pending messages are damaged` };
  const counts = pending.counts.countDamaged();
  if (counts > 0) yield { messages: 0, problem: `${counts} counts of pending messages are damaged` };
  for (const segment of segments.damaged(pendingOf(Map.groupBy(ranges, ({ segment }) => segment))))
    yield { messages: 0, problem: `what the store knows of segment ${segment} is damaged` };
  for (const { number } of segments.all()) {
    const { messages, isWhole } = segments.salvage(number);
    yield { messages: messages.length };
    if (!isWhole) yield { messages: 0, problem: `parts of segment ${number} can't be read` };
    if (!segments.hasSoundHashes(number))
      yield { messages: 0, problem: `the index of ids in segment ${number} is damaged` };
    for (const message of messages)
      if (hasLostBody(message))
        yield { messages: 0, problem: `message ${message.seq} in segment ${number} has lost its body` };
  }
}

/** A segment to repair. `ranges` tell which of its messages are pending; they are absent if that is unknown. */
interface DamagedSegment {
  number: number;
  known: Segment | undefined;
  ranges: readonly PendingRange[] | undefined;
}

/** Writes a segment again with its readable messages. */
function repairSegment(tables: PendingTables, { number, known, ranges }: DamagedSegment): SegmentDamage {
  const { messages, isWhole } = tables.segments.salvage(number);
  const settled = messages.filter(({ ending }) => ending !== undefined);
  const pending =
    known?.kind === 'settled'
      ? []
      : messages.filter(
          (one) => one.ending === undefined && (!ranges || ranges.some((range) => isWithin(one, range))),
        );
  const lost = (ranges ?? []).flatMap((range) => {
    const { inbox, first, last, messages: expected } = range;
    const left = pending.filter((one) => isWithin(one, range)).length;
    return left < expected ? [{ inbox, first, last, messages: expected - left }] : [];
  });
  tables.ranges.removeOf(number);
  tables.segments.dropDamaged(number);
  if (settled.length > 0) tables.segments.write('settled', settled);
  tables.pending.add(pending);
  return { segment: number, isWhole, pending: pending.length, isPendingKnown: ranges !== undefined, lost };
}

function isWithin({ seq, shared }: LoggedMessage, { inbox, first, last }: PendingRange): boolean {
  return inbox === shared.inbox && first <= seq && seq <= last;
}

/** Counts again the pending messages. A segment that proves to be damaged is repaired later, and counted then. */
function recount({ segments, pending }: PendingTables): void {
  pending.counts.clear();
  for (const segment of segments.all()) {
    if (segment.kind !== 'pending') continue;
    for (const { shared, size } of soundMessagesIn(segment, pending)) pending.counts.count(1, shared, size);
  }
  pending.counts.save();
}

function soundMessagesIn(segment: Segment, pending: PendingTables['pending']): LoggedMessage[] {
  try {
    return pending.messagesIn(segment);
  } catch (thrown) {
    if (thrown instanceof DamageFound) return [];
    throw thrown;
  }
}

/** Counts the pending messages of each segment. */
function pendingOf(rangesOf: ReadonlyMap<number, readonly PendingRange[]>): Map<number, number> {
  return new Map([...rangesOf].map(([segment, own]) => [segment, sumOf(own)]));
}

function sumOf(ranges: readonly PendingRange[]): number {
  return ranges.reduce((sum, { messages }) => sum + messages, 0);
}
