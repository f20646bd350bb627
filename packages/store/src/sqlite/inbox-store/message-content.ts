import type { Database } from 'better-sqlite3';
import type { ContentEntry } from '../../store-content.ts';
import { AgentUsage } from '../log-structured/agent-usage.ts';
import { LogStructuredStore } from '../log-structured/log-structured-store.ts';
import { DeadLetterTable } from './dead-letter-table.ts';
import { markFile, presentBoot, readMark } from './durable-mark.ts';
import { defaultLimits } from './inbox-store.ts';
import { allBindings } from './journal-table.ts';
import { KeptBodyTable } from './kept-body-table.ts';
import { MetaTable } from './meta-table.ts';
import { inspect } from './recovery.ts';
import { ScheduledTable } from './scheduled-table.ts';

/** Reads all undamaged content of a database of messages. */
export function* messageContent(db: Database, file: string): Iterable<ContentEntry> {
  const meta = new MetaTable(db);
  const monotonic = (): number => 0;
  const usage = new AgentUsage();
  const messages = new LogStructuredStore(db, meta, defaultLimits, { now: Date.now, monotonic, usage });
  const mark = readMark(markFile(file), presentBoot());
  const { reserved } = inspect(messages, meta, mark, false);
  yield ['fact', { key: 'identity', value: meta.identity() }];
  yield ['fact', { key: 'next_number', value: String(reserved + 1) }];
  const time = meta.text('time');
  if (time !== undefined) yield ['fact', { key: 'time', value: time }];
  const restoredAt = meta.number('restored_at');
  if (restoredAt) yield ['fact', { key: 'restored_at', value: String(restoredAt) }];
  for (const { inbox, generation, foreignUpTo, epoch } of allBindings(db))
    yield ['journal', { inbox, generation, foreignUpTo, epoch }];
  // The row of a request adds to a stored message, or is the only rest of one.
  const rows = new Map(messages.requests.all().map((row) => [row.seq, row]));
  for (const message of messages.all()) {
    const row = rows.get(message.seq);
    rows.delete(message.seq);
    const takers = row ? messages.requests.takersOf(message) : message.takers;
    const answered = message.answered || (row?.isOver ?? false);
    yield ['message', row ? { ...message, answered, takers } : message];
  }
  for (const row of rows.values()) yield ['request', row];
  const onDamage = (): void => {};
  for (const item of new ScheduledTable(db, { usage, onDamage }).all()) yield ['scheduled', item];
  for (const message of new DeadLetterTable(db, { monotonic, usage, onDamage }).messages())
    yield ['dead_letter', message];
  const kinds = JSON.parse(meta.text('kept_kinds') ?? '[]') as string[];
  for (const body of new KeptBodyTable(db, meta, messages.log, { kinds, ageMs: 0, bytes: 0 }).all())
    yield ['kept_body', body];
}
