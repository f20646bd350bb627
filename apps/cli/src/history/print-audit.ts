import { readAudit } from '@signalbox/operator';
import { SignalboxError } from '@signalbox/protocol';
import { withSession } from '../connection/client-session.ts';
import { count, oneLine, printJson, printLines, tableLines } from '../terminal/output.ts';
import type { HistoryFlags } from './history-flags.ts';

const dayMs = 24 * 3_600_000;
/** The largest number of rows that the broker gives at a time. */
const maxRows = 1000;

/** Prints the audit log: refusals, token events and other entries. */
export async function printAudit(flags: HistoryFlags): Promise<void> {
  checkFlags(flags);
  const since = Math.max(0, Date.now() - (flags.since ?? dayMs));
  const limit = Math.min(flags.limit, maxRows);
  const rows = await withSession(flags, ({ client }) => readAudit(client, { since, limit }));
  if (flags.json) return printJson({ rows });
  if (rows.length === 0) return printLines('the audit log has no entries of that time');
  const cells = rows.map(({ last_at, agent, token_id, code, count: times, detail }) => [
    new Date(last_at).toISOString(),
    agent ?? '-',
    token_id ?? '-',
    code,
    String(times),
    oneLine(detail, 100),
  ]);
  printLines(
    ...tableLines(['LAST', 'AGENT', 'TOKEN', 'CODE', 'TIMES', 'DETAIL'], cells),
    '',
    rows.length < limit
      ? count(rows.length, 'row')
      : `The first ${rows.length} rows; there may be more: raise --limit or shorten --since.`,
  );
}

function checkFlags({ about, correlation }: HistoryFlags): void {
  const misplaced = about === undefined ? correlation && '--correlation' : '--agent';
  if (!misplaced) return;
  throw new SignalboxError('usage', `${misplaced} belongs to the timeline, not to --audit`, {
    details: { hint: 'leave it out, or leave --audit out' },
  });
}
