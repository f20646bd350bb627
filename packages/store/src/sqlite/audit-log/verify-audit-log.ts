import { AuditChainCheck } from '../../audit-chain.ts';
import type { AuditRow } from '../../audit-log.ts';
import { readDatabase } from '../backup/read-database.ts';
import { allKinds, type ChainRow, emptyChain, rowsBehind, schema, toChain } from './audit-tables.ts';

/** The rows that are checked together. */
const rowsAtOnce = 256;

/** Reads every row of an audit log that nobody uses, and checks its chains. Changes nothing. Throws a `StoreError`. */
export function verifyAuditLog(file: string): { problems: string[]; rows: number } {
  return readDatabase(file, schema, (db, problems) => {
    let rows = 0;
    const known = new Map(
      db
        .prepare<[], ChainRow>('SELECT * FROM chain')
        .all()
        .map((row) => [row.kind, row]),
    );
    for (const kind of allKinds) {
      const row = known.get(kind);
      const chain = row ? toChain(row) : emptyChain(kind);
      const page = rowsBehind(db, kind);
      const check = new AuditChainCheck();
      let problem: string | undefined;
      let read: AuditRow[];
      do {
        read = page.all(Math.max(check.after, chain.dropped.number), rowsAtOnce);
        rows += read.length;
        problem = check.check(read, chain, read.length < rowsAtOnce);
      } while (problem === undefined && read.length === rowsAtOnce);
      if (problem !== undefined) problems.push(problem);
    }
    return { problems, rows };
  });
}
