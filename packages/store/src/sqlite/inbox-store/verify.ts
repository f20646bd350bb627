import type { Database } from 'better-sqlite3';
import { readDatabase } from '../backup/read-database.ts';
import { formatVersion } from '../database.ts';
import { AgentUsage } from '../log-structured/agent-usage.ts';
import { LogStructuredStore } from '../log-structured/log-structured-store.ts';
import { DeadLetterTable } from './dead-letter-table.ts';
import { markFile, presentBoot, readMark } from './durable-mark.ts';
import { inboxSchema } from './inbox-schema.ts';
import { defaultLimits } from './inbox-store.ts';
import { damagedBindings } from './journal-table.ts';
import { KeptBodyTable } from './kept-body-table.ts';
import { MetaTable } from './meta-table.ts';
import { inspect } from './recovery.ts';
import { ScheduledTable } from './scheduled-table.ts';

/** The result of {@link verifyInboxStore}. */
export interface VerifiedStore {
  /** The id of the broker; absent if it was damaged. */
  identity?: string;
  /** A description of each damage; empty if the store is undamaged. */
  problems: string[];
  /** The number of readable messages: pending, settled and scheduled. */
  messages: number;
  /** The number of readable dead letters. */
  deadLetters: number;
}

/**
 * Reads everything in a store that is not in use, and checks it: SQLite's structures and the definitions of its tables, the checksums of
 * all messages, and whether the tables agree. Changes nothing, and needs little memory. Rejects with a `StoreError` if there is no such
 * database.
 */
export async function verifyInboxStore(file: string): Promise<VerifiedStore> {
  return readDatabase(file, { schema: inboxSchema, version: formatVersion }, (db, problems) =>
    read(db, file, problems),
  );
}

function read(db: Database, file: string, problems: string[]): VerifiedStore {
  const meta = new MetaTable(db);
  const monotonic = (): number => 0;
  const usage = new AgentUsage();
  const messages = new LogStructuredStore(db, meta, defaultLimits, { now: Date.now, monotonic, usage });
  const mark = readMark(markFile(file), presentBoot());
  problems.push(...inspect(messages, meta, mark, false).losses.map((loss) => `it has lost ${loss}`));
  const dead = new DeadLetterTable(db, { monotonic, usage, onDamage: ({ detail }) => problems.push(detail) });
  const identity = meta.has('identity') && !meta.isDamaged('identity') ? meta.identity() : undefined;
  const verified = { ...(identity !== undefined && { identity }), problems, messages: 0, deadLetters: 0 };
  for (const inbox of damagedBindings(db)) problems.push(`the journal of '${inbox}' is damaged`);
  for (const part of messages.verify()) {
    verified.messages += part.messages;
    if (part.problem !== undefined) problems.push(part.problem);
  }
  for (const letter of dead.all()) {
    verified.deadLetters++;
    if (letter.damaged) problems.push(`the dead letter ${letter.seq} has lost its body`);
  }
  const scheduled = new ScheduledTable(db, { usage, onDamage: () => {} });
  for (const problem of scheduled.verify()) {
    if (problem === undefined) verified.messages++;
    else problems.push(problem);
  }
  for (const seq of new KeptBodyTable(db, meta, messages.log).damaged())
    problems.push(`the body of message ${seq} that is kept is damaged`);
  for (const seq of dead.misfiled())
    problems.push(`the row of the dead letter ${seq} says something else than its message`);
  return verified;
}
