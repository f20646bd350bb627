import type { Database } from 'better-sqlite3';
import type { Settled } from './settled-message.ts';
import type { SettledPages } from './settled-pages.ts';

const perPage = 512;

/** Takes over what older versions kept of settled messages: a row each, in tables `settled_<slice>`. Nothing, later on. */
export function adoptSlices(db: Database, pages: SettledPages): void {
  const slices = db.prepare<[], number>('SELECT number FROM slice ORDER BY number').pluck().all();
  for (const slice of slices) {
    db.transaction(() => {
      const table = `settled_${slice}`;
      const page = db.prepare<[limit: number, offset: number], Settled>(
        `SELECT id, inbox, sender, sender_address AS senderAddress, kind, correlation_id AS correlationId, seq, size,
           created_at AS createdAt, settled_at AS at, outcome, reason
         FROM ${table} ORDER BY id, inbox, sender LIMIT ? OFFSET ?`,
      );
      for (let at = 0; ; at += perPage) {
        const rows = page.all(perPage, at);
        if (rows.length === 0) break;
        pages.add(rows);
      }
      db.exec(`DROP TABLE ${table}`);
      db.prepare('DELETE FROM slice WHERE number = ?').run(slice);
    })();
  }
}
