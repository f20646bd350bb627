import { auditRows, readAudit, readAuditChain } from '@signalbox/client/operator';
import { auditPageSize } from '@signalbox/client/operator/internal';
import { type AuditEntry, type AuditEntryKind, auditEntryKinds, SignalboxError } from '@signalbox/protocol';
import { formatElapsed } from '@signalbox/protocol/duration';
import { suggestion } from '@signalbox/protocol/internal';
import { toolLabel } from '@signalbox/protocol/tool-label';
import { AuditChainCheck } from '@signalbox/store/internal';
import { withClient } from '../connection/connected-client.ts';
import type { ConnectionFlags } from '../connection/connection.ts';
import { exitCodes } from '../terminal/exit-codes.ts';
import { count, instant, oneLine, printJson, printLines, tableLines } from '../terminal/output.ts';
import { withToolLabels } from '../tools/tool-name.ts';
import { withoutUsualWord } from '../wrong-line.ts';

/** The options of `signalbox audit`. */
export interface AuditFlags extends ConnectionFlags {
  verify?: boolean;
  export?: boolean;
  /** Shows what happened in this many milliseconds up to now. */
  since?: number;
  limit: number;
  json?: boolean;
}

const dayMs = 24 * 3_600_000;
/** The kinds that are shown unless others are named: few entries, and those that matter. */
const usualKinds: readonly AuditEntryKind[] = ['change', 'refusal', 'loss'];

/** Prints the audit log, exports it, or checks it. */
export async function printAudit(named: string | undefined, flags: AuditFlags): Promise<void> {
  if (flags.verify) return verifyAudit(named, flags);
  if (flags.export) return exportAudit(named, flags);
  const { limit } = flags;
  const since = Math.max(0, Date.now() - (flags.since ?? dayMs));
  const query = { since, limit, kinds: kindsOf(named) };
  const { entries, more } = await withClient(flags, ({ client }) => readAudit(client, query));
  if (flags.json) return printJson({ entries, more });
  if (entries.length === 0) return printLines('the audit log has no such entries of that time');
  const cells = entries.map((entry) => [
    instant(entry.at, Date.now()),
    entry.agent ?? '-',
    entry.code,
    entry.name === undefined ? '-' : oneLine(toolLabel({ tool: entry.name, server: entry.server }), 60),
    oneLine(factsOf(entry), 100),
    String(entry.count),
    entry.role ?? '-',
  ]);
  printLines(
    ...tableLines(['LAST', 'AGENT', 'CODE', 'ABOUT', 'DETAIL', 'TIMES', 'ROLE'], cells, {
      optionalColumns: 2,
    }),
    '',
    more
      ? `These are the newest ${entries.length}, and there are older ones: raise --limit.`
      : count(entries.length, 'row'),
  );
}

function factsOf({ detail, outcome, server, host, took_ms, request_bytes, reply_bytes }: AuditEntry): string {
  const where = host === undefined ? '' : ` (host ${host})`;
  if (took_ms === undefined) return `${withToolLabels(detail)}${where}`;
  const sizes = `${request_bytes ?? '?'} bytes in, ${reply_bytes ?? '?'} out`;
  const by = server === undefined ? '' : ` on ${server}${where}`;
  return `${outcome} after ${formatElapsed(took_ms)}${by}, ${sizes}`;
}

/** Prints each row as one line of JSON: the entry, and its hash. */
async function exportAudit(named: string | undefined, flags: AuditFlags): Promise<void> {
  const since = flags.since === undefined ? 0 : Math.max(0, Date.now() - flags.since);
  const kinds = named === undefined ? auditEntryKinds : kindsOf(named);
  await withClient(flags, async ({ client }) => {
    // The entry is printed as it is stored, since its hash is that of this text.
    for await (const { entry, hash } of auditRows(client, { since, kinds })) {
      const isFree = process.stdout.write(`{"hash":"${hash}","entry":${entry}}\n`);
      if (!isFree) await new Promise((resolve) => process.stdout.once('drain', resolve));
    }
  });
}

interface CheckedChain {
  kind: AuditEntryKind;
  rows: number;
  last: { number: number; hash: string };
  problem?: string;
}

/**
 * Checks every chain, and prints the hash of each last row. A later check by hand can compare these hashes, and finds a log that was
 * replaced.
 */
async function verifyAudit(named: string | undefined, flags: AuditFlags): Promise<void> {
  if (named !== undefined || flags.export) {
    throw new SignalboxError(
      'usage',
      `--verify checks the whole log, so it takes no ${flags.export ? '--export' : 'kinds'}`,
    );
  }
  const chains = await withClient(flags, async ({ client }) => {
    const checked: CheckedChain[] = [];
    for (const kind of auditEntryKinds) {
      const check = new AuditChainCheck();
      let page: Awaited<ReturnType<typeof readAuditChain>>;
      let problem: string | undefined;
      let rows = 0;
      do {
        page = await readAuditChain(client, kind, check.after);
        rows += page.rows.length;
        problem = check.check(page.rows, page.chain, page.rows.length < auditPageSize);
      } while (problem === undefined && page.rows.length === auditPageSize);
      checked.push({ kind, rows, last: page.chain.last, ...(problem !== undefined && { problem }) });
    }
    return checked;
  });
  const broken = chains.filter(({ problem }) => problem !== undefined);
  if (broken.length > 0) process.exitCode = exitCodes.failed;
  if (flags.json) return printJson({ ok: broken.length === 0, chains });
  const cells = chains.map(({ kind, rows, last, problem }) => [
    kind,
    String(rows),
    String(last.number),
    last.hash,
    problem === undefined ? 'whole' : 'BROKEN',
  ]);
  printLines(
    ...tableLines(['KIND', 'ROWS', 'LAST', 'HASH OF THE LAST ROW', 'CHAIN'], cells),
    '',
    ...broken.map(({ problem }) => problem!),
    broken.length === 0
      ? 'Every row is as it was written. Keep the hashes elsewhere to notice a log that somebody makes anew.'
      : 'Somebody or something changed audit.db. A backup, or an export made earlier, has the rows as they were.',
  );
}

/** Reads the kinds that are named. Throws `usage` for a word that is none. */
function kindsOf(named: string | undefined): readonly AuditEntryKind[] {
  if (named === undefined) return usualKinds;
  if (named === 'all') return auditEntryKinds;
  return named.split(',').map((word) => {
    const kind = auditEntryKinds.find((known) => known === word.trim());
    if (kind) return kind;
    throw new SignalboxError(
      'usage',
      `'${word}' is not a kind of entries${suggestion(word, auditEntryKinds)}`,
      {
        details: {
          hint:
            withoutUsualWord(word) ??
            `the kinds are ${auditEntryKinds.join(', ')}; all stands for every kind`,
        },
      },
    );
  });
}
