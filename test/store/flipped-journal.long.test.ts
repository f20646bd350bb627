import { join } from 'node:path';
import { verifyJournal } from '@signalbox/daemon/backup';
import { type Journal, openSqliteJournal } from '@signalbox/store/journal';
import { tempDir } from '@signalbox/testing';
import Database from 'better-sqlite3';
import { expect, test } from 'vitest';
import { flipBytes } from '../support/store/flipped-bytes.ts';

const flips = 200;
const inbox = 'b-1 orchestrator';

/** Writes a journal with calls in every state, and returns its file. */
async function smallJournal(directory: string): Promise<string> {
  const file = join(directory, 'journal.db');
  await using journal = await openSqliteJournal({ file });
  journal.claim(inbox, () => {});
  for (let n = 0; n < 30; n++) {
    const key = { agent: 'rosa', requestId: `r${n}` };
    const times = { receivedAt: 100 + n, startedAt: 200 + n, lifetimeMs: 10_000_000 };
    await journal.start({ ...key, role: 'worker', tool: 'mcp_counter__count', inbox, ...times });
    if (n % 3 === 0) continue;
    const reply = JSON.stringify({ result: { text: `${n}`.repeat(n * 5) } });
    await journal.finish(key, { outcome: 'ok', finishedAt: 300, reply, isLate: n % 2 === 0 });
    if (n % 5 !== 0) journal.settle(key, 'stored');
  }
  await addApprovals(journal.approvals);
  return file;
}

/** Writes approvals in several states, a request that is attached to one, and standing approvals. */
async function addApprovals(approvals: Journal['approvals']): Promise<void> {
  const by = { tokenId: 'token-1', agent: 'operator' };
  for (let n = 0; n < 60; n++) {
    const bound = { agent: 'walt', role: 'worker', tool: 'mcp_counter__count', definitionHash: 'd1' };
    const hashes = {
      argumentsHash: `hash-of-${n}`,
      arguments: JSON.stringify({ path: `/srv/${n}` }),
      hidden: 0,
    };
    const times = { createdAt: 100 + n, deadlineAt: 10_000 + n, rule: 'roles.worker.ask[0]' };
    const proposed = { ...bound, ...hashes, ...times, id: `a${n}`, requestId: `r${n}` };
    await approvals.propose({ ...proposed, ...(n % 2 === 0 && { idempotencyKey: `key-${n}` }) });
    if (n % 4 === 0) await approvals.attach(`a${n}`, { agent: 'walt', requestId: `again-${n}` });
    if (n % 3 === 0) continue;
    const standing = { ...bound, id: `s${n}`, createdAt: 300, until: 400, by };
    const end = { state: n % 2 === 0 ? 'approved' : 'denied', endedAt: 300, by, reason: 'so' } as const;
    await approvals.end(`a${n}`, end, n % 5 === 0 ? standing : undefined);
    if (n % 4 === 2) await approvals.use({ agent: 'walt', requestId: `r${n}` });
  }
}

/** Everything in a journal that decides what is answered. The other columns say how long it is remembered. */
function answersOf(file: string): string {
  const db = new Database(file, { readonly: true });
  try {
    const calls = db.prepare(
      `SELECT agent, request_id, role, tool, server, received_at, started_at, inbox, over_at, finished_at, outcome,
         reply_bytes, reply, start_checksum, end_checksum, iif(reply IS NULL, NULL, reply_checksum) FROM call`,
    );
    const others = [
      'SELECT id, checksum FROM journal',
      'SELECT * FROM generation',
      'SELECT * FROM approval',
      'SELECT * FROM approval_end',
      'SELECT * FROM approval_use',
      'SELECT * FROM approval_attachment',
      'SELECT * FROM standing_approval',
      'SELECT * FROM sqlite_schema',
    ];
    const rows = others.map((sql) => db.prepare(sql).all());
    return JSON.stringify([rows, calls.all(), db.pragma('user_version', { simple: true })]);
  } finally {
    db.close();
  }
}

test('Every byte of a journal that is overwritten is found, or decides nothing that is answered.', async () => {
  await using directory = await tempDir();
  const file = await smallJournal(directory.path);
  expect(verifyJournal(file)).toMatchObject({ calls: 30, problems: [] });
  const { missed, unused } = await flipBytes(file, verifyJournal, { flips, seed: 5, read: answersOf });
  expect(missed).toEqual([]);
  // Its positive control: the pages of a small journal are largely empty, and no emptier.
  expect(unused).toBeLessThan((flips * 9) / 10);
});
