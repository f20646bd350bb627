import type Database from 'better-sqlite3';
import { rowChecksum } from '../row-checksum.ts';
import { ApprovalTable } from './approval-table.ts';
import { CallTable } from './call-table.ts';
import { damagedGenerations } from './generation-table.ts';
import { findJournalId } from './journal-copy.ts';
import { journalError, openJournalDatabase } from './journal-database.ts';
import { PinTable } from './pin-table.ts';

/** The content of a journal. */
export interface JournalContents {
  /** The id of the journal; absent if it was lost. */
  id?: string;
  calls: number;
  /** A description of each damage; empty if the journal is undamaged. */
  problems: string[];
}

/** Reads every row of a journal that is not in use, and changes nothing. */
export function inspectJournal(db: Database.Database): JournalContents {
  const problems = damagedGenerations(db).map((inbox) => `the generations of '${inbox}' are damaged`);
  let calls = 0;
  const damaged = new CallTable(db).countDamaged(() => calls++);
  if (damaged > 0) problems.push(`${damaged} calls are damaged`);
  const approvals = new ApprovalTable(db).countDamaged();
  if (approvals > 0) problems.push(`${approvals} approvals are damaged`);
  const pins = new PinTable(db).countDamaged();
  if (pins > 0) problems.push(`${pins} pinned definitions are damaged`);
  const replies = countDamagedReplies(db);
  if (replies > 0) problems.push(`${replies} replies are damaged`);
  const id = findJournalId(db);
  if (!isIdSound(db)) problems.push('the id of the journal is damaged');
  return { ...(id !== undefined && { id }), calls, problems };
}

function isIdSound(db: Database.Database): boolean {
  const rows = db.prepare<[], { id: string; checksum: number }>('SELECT id, checksum FROM journal').all();
  return rows.length === 1 && rows.every(({ id, checksum }) => checksum === rowChecksum(id));
}

/** Counts the damaged replies. A start doesn't read the replies, since they may be many and large. */
function countDamagedReplies(db: Database.Database): number {
  const replies = db.prepare<[], { reply: string | null; bytes: number; checksum: number | null }>(
    'SELECT reply, reply_bytes AS bytes, reply_checksum AS checksum FROM call NOT INDEXED',
  );
  let damaged = 0;
  for (const { reply, bytes, checksum } of replies.iterate()) {
    const isSound =
      reply === null ? bytes === 0 : bytes === Buffer.byteLength(reply) && checksum === rowChecksum(reply);
    if (!isSound) damaged++;
  }
  return damaged;
}

/**
 * Makes a restored journal foreign to every broker: it no longer claims to know everything that was started. Its approvals end, because
 * somebody may have decided since, and their calls may have been made. `now` is in epoch milliseconds. Throws `SignalboxError`
 * `journal_…`.
 */
export function disownRestoredJournal(file: string, now: number): void {
  const db = openJournalDatabase(file);
  const reason =
    'a backup was restored, so that somebody may have decided already, and the call may have run';
  try {
    const disown = db.transaction(() => {
      db.exec('DELETE FROM generation');
      new ApprovalTable(db).endAll({ state: 'cancelled', endedAt: now, reason });
    });
    disown.immediate();
    db.pragma('wal_checkpoint(TRUNCATE)');
  } catch (thrown) {
    throw journalError(thrown, file);
  } finally {
    db.close();
  }
}
