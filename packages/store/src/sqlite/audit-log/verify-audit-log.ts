import { AuditChainCheck } from '../../audit-chain.ts';
import type { AuditChain, AuditRow } from '../../audit-log.ts';
import { readDatabase } from '../backup/read-database.ts';
import { formatVersion } from '../database.ts';
import {
  allKinds,
  type ChainRow,
  emptyChain,
  rowBytes,
  rowsBehind,
  schema,
  toChain,
} from './audit-tables.ts';

/** The number of rows that are checked together. */
const rowsAtOnce = 256;

/** Reads every row of an audit log that is not in use, and checks its chains. Changes nothing. Throws a `StoreError`. */
export function verifyAuditLog(file: string): { problems: string[]; rows: number } {
  return readDatabase(file, { schema, version: formatVersion }, (db, problems) => {
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
      const found = { rows: 0, bytes: 0 };
      do {
        read = page.all(Math.max(check.after, chain.dropped.number), rowsAtOnce);
        found.rows += read.length;
        for (const { entry } of read) found.bytes += rowBytes(Buffer.byteLength(entry));
        problem = check.check(read, chain, read.length < rowsAtOnce);
      } while (problem === undefined && read.length === rowsAtOnce);
      rows += found.rows;
      problem ??= countProblem(found, chain);
      if (problem !== undefined) problems.push(problem);
    }
    return { problems, rows };
  });
}

/** Returns in words that the counts of a chain, which decide when its oldest rows are dropped, are not those of its rows. */
function countProblem(
  found: { rows: number; bytes: number },
  { kind, rows, bytes }: AuditChain,
): string | undefined {
  if (found.rows === rows && found.bytes === bytes) return undefined;
  return `the counts of kind '${kind}' were changed: ${rows} rows of ${bytes} bytes, and there are ${found.rows} of ${found.bytes}`;
}
