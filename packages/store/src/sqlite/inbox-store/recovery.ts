import type { Damage } from '../../damage.ts';
import { StoreError } from '../../store-error.ts';
import type { LogDamage } from '../log-structured/commit-log.ts';
import type { LogStructuredStore } from '../log-structured/log-structured-store.ts';
import type { SegmentDamage, StoreDamage } from '../log-structured/repair-segments.ts';
import type { ReadMark } from './durable-mark.ts';
import type { MetaTable } from './meta-table.ts';

/** The count of numbers that are skipped if it is unknown which are in use. No store has given out as many since its last sync. */
const skippedNumbers = 1_000_000_000;

/** The state of a store when it was opened. */
export interface Finding {
  /** The losses beyond those that a crash can cause, in words; empty if there are none. */
  losses: string[];
  /** The losses through a restart of the machine that the durability allows, in words; empty if there are none. */
  allowed: string[];
  /** The number up to which sequence numbers may be in use. */
  reserved: number;
}

/**
 * Compares the content of a store with its mark. `mark` is that of the file beside the database. A copy in a backup needs no mark; a store
 * that was in use and has no mark may have lost its last commits with it.
 */
export function inspect(
  messages: LogStructuredStore,
  meta: MetaTable,
  mark: ReadMark | undefined,
  needsMark: boolean,
): Finding {
  const losses = describeLog(messages.logDamage);
  const allowed: string[] = [];
  const reserved = meta.number('seq_reserved');
  if (meta.isDamaged('identity')) losses.push('its identity');
  if (meta.isDamaged('seq_reserved')) losses.push('the mark of used sequence numbers');
  if (meta.isDamaged('log_dropped')) losses.push('the place of its log');
  if (mark && !meta.isDamaged('identity') && mark.identity !== meta.identity()) {
    losses.push('everything: it is another store than the one that ran here last');
  } else if (mark && mark.commit > messages.lastCommit) {
    const lost = `its last ${countOf(messages.lastCommit + 1, mark.commit)}`;
    if (mark.isCertain) losses.push(lost);
    else allowed.push(lost);
  } else if (!mark && needsMark) {
    losses.push(
      `its .mark file, which says how many commits there were, so that its last ones may be lost behind number ${messages.lastCommit}`,
    );
  }
  const highest = messages.highestSeq();
  const isKnown = losses.length + allowed.length === 0 && reserved !== undefined && reserved >= highest;
  return {
    losses,
    allowed,
    reserved: isKnown ? reserved : Math.max(reserved ?? 0, highest) + skippedNumbers,
  };
}

/** Makes the error of a store that has lost something. It is opened only if the loss is accepted. */
export function lossError(file: string, losses: readonly string[]): StoreError {
  return new StoreError(
    'store_damaged',
    `${file} is damaged. It has lost ${losses.join('; and ')}. Restore a backup, or accept the loss and go on with the rest: ` +
      'start once with --accept-loss. Keep a copy of the directory first.',
  );
}

/** Makes the store consistent again with the rest of its content. Call it in a transaction, and read everything again afterwards. */
export function acceptLoss(
  messages: LogStructuredStore,
  meta: MetaTable,
  mark: ReadMark | undefined,
  { reserved }: Finding,
): void {
  const isOurs = mark !== undefined && (meta.isDamaged('identity') || mark.identity === meta.identity());
  messages.acceptLoss(isOurs ? mark.commit : 0);
  meta.set('seq_reserved', reserved);
}

/** Describes the damage that a repair found. */
export function describeDamage({ segments, counts, requests }: StoreDamage & { requests: number }): Damage[] {
  const found = segments.map(describeSegment);
  if (counts > 0)
    found.push({
      what: 'count',
      detail: `${counts} counts of pending messages were damaged, and were counted again`,
    });
  if (requests > 0)
    found.push({
      what: 'request',
      detail: `${requests} rows of open requests were damaged: replies that come to those requests are refused`,
    });
  return found;
}

function describeSegment(damage: SegmentDamage): Damage {
  const { segment, isWhole, pending, isPendingKnown, lost } = damage;
  const parts = lost.map(
    ({ inbox, first, last, messages }) =>
      `${messages} messages to '${inbox}' with sequence numbers from ${first} to ${last} are lost`,
  );
  if (!isPendingKnown && !isWhole) parts.push('it is not known how many messages are lost');
  if (!isPendingKnown && pending > 0)
    parts.push(`${pending} messages may come again although they were settled`);
  if (parts.length === 0) parts.push('no pending message is lost');
  return { what: 'segment', detail: `segment ${segment} was damaged and is repaired: ${parts.join('; ')}` };
}

function describeLog({ missing, damaged }: LogDamage): string[] {
  const losses = missing.map(({ first, last }) => `${countOf(first, last)} in the middle of its log`);
  if (damaged.length > 0)
    losses.push(`parts of ${damaged.length} commits (${rangeOf(damaged[0]!, damaged.at(-1)!)})`);
  return losses;
}

function countOf(first: number, last: number): string {
  const count = last - first + 1;
  return `${count} ${count === 1 ? 'commit' : 'commits'} (${rangeOf(first, last)})`;
}

function rangeOf(first: number, last: number): string {
  return first === last ? `number ${first}` : `numbers ${first} to ${last}`;
}
