import type { Database, Statement } from 'better-sqlite3';
import {
  type ApprovalEnd,
  type ApprovalRecord,
  type ProposedCall,
  type StandingRecord,
  unknownDefinition,
} from '../../journal/approval-record.ts';
import type { ApprovalQuery, NumberedApproval } from '../../journal/approval-store.ts';
import type { CallKey } from '../../journal/call-key.ts';
import { rowChecksum } from '../row-checksum.ts';

/** The number of ended approvals that are kept, and the bytes of their arguments. */
export interface ApprovalRetention {
  rows: number;
  bytes: number;
}

interface ApprovalRow {
  number: number;
  id: string;
  agent: string;
  requestId: string;
  role: string;
  tool: string;
  server: string | null;
  definitionHash: string;
  argumentsHash: string;
  arguments: string;
  metaHash: string | null;
  meta: string | null;
  hidden: number;
  rule: string;
  idempotencyKey: string | null;
  createdAt: number;
  deadlineAt: number;
  checksum: number;
  state: ApprovalEnd['state'] | null;
  endedAt: number | null;
  tokenId: string | null;
  byAgent: string | null;
  standing: string | null;
  reason: string | null;
  endChecksum: number | null;
  useChecksum: number | null;
}

interface UseRow {
  id: string;
  checksum: number;
}

interface AttachmentRow extends CallKey {
  id: string;
  checksum: number;
}

interface StandingRow extends Omit<StandingRecord, 'by' | 'reason'> {
  tokenId: string;
  byAgent: string;
  reason: string | null;
  checksum: number;
}

type Value = string | number | null;

/** The most rows of one housekeeping step, which must not hold up calls for long. */
const pruneBatch = 500;

const sizeOfRow = "LENGTH(a.arguments) + LENGTH(COALESCE(a.meta, ''))";

const joined = `SELECT a.number, a.id, a.agent, a.request_id AS requestId, a.role, a.tool, a.server,
    a.definition_hash AS definitionHash, a.arguments_hash AS argumentsHash, a.arguments,
    a.meta_hash AS metaHash, a.meta, a.hidden, a.rule,
    a.idempotency_key AS idempotencyKey, a.created_at AS createdAt, a.deadline_at AS deadlineAt, a.checksum,
    e.state, e.ended_at AS endedAt, e.token_id AS tokenId, e.by_agent AS byAgent, e.standing, e.reason,
    e.checksum AS endChecksum, u.checksum AS useChecksum
  FROM approval a LEFT JOIN approval_end e ON e.id = a.id LEFT JOIN approval_use u ON u.id = a.id`;

/** Reads and writes the tables of approvals. The caller provides the transactions. */
export class ApprovalTable {
  readonly #insert: Statement<Value[]>;
  readonly #insertEnd: Statement<Value[]>;
  readonly #use: Statement<Value[]>;
  readonly #uses: Statement<[], UseRow>;
  readonly #attach: Statement<Value[]>;
  readonly #find: Statement<[string], ApprovalRow>;
  readonly #withKey: Statement<[agent: string, key: string], ApprovalRow>;
  readonly #all: Statement<[], ApprovalRow>;
  readonly #pending: Statement<[], ApprovalRow>;
  readonly #page: Statement<[before: number, limit: number], ApprovalRow>;
  readonly #attachments: Statement<[], AttachmentRow>;
  readonly #standing: Statement<[], StandingRow>;
  readonly #insertStanding: Statement<Value[]>;
  readonly #deleteStanding: Statement<[string]>;
  readonly #size: Statement<[], { rows: number; bytes: number }>;
  readonly #oldest: Statement<[limit: number], { id: string; bytes: number }>;
  readonly #delete: readonly Statement<[string]>[];

  constructor(db: Database) {
    this.#insert = db.prepare(
      `INSERT INTO approval (id, agent, request_id, role, tool, server, definition_hash, arguments_hash, arguments, meta_hash, meta,
         hidden, rule, idempotency_key, created_at, deadline_at, checksum)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    );
    this.#insertEnd = db.prepare(
      `INSERT INTO approval_end (id, state, ended_at, token_id, by_agent, standing, reason, checksum)
       SELECT ?, ?, ?, ?, ?, ?, ?, ? WHERE EXISTS (SELECT 1 FROM approval WHERE id = ?)
       ON CONFLICT DO NOTHING`,
    );
    this.#use = db.prepare('INSERT INTO approval_use (id, checksum) VALUES (?, ?) ON CONFLICT DO NOTHING');
    this.#uses = db.prepare('SELECT id, checksum FROM approval_use');
    this.#attach = db.prepare(
      'INSERT OR REPLACE INTO approval_attachment (agent, request_id, id, checksum) VALUES (?, ?, ?, ?)',
    );
    this.#find = db.prepare(`${joined} WHERE a.id = ?`);
    this.#withKey = db.prepare(
      `${joined} WHERE a.agent = ? AND a.idempotency_key = ? ORDER BY a.number DESC LIMIT 1`,
    );
    this.#all = db.prepare(`${joined} ORDER BY a.number`);
    this.#pending = db.prepare(`${joined} WHERE e.id IS NULL ORDER BY a.number`);
    this.#page = db.prepare(`${joined} WHERE a.number < ? ORDER BY a.number DESC LIMIT ?`);
    this.#attachments = db.prepare(
      'SELECT agent, request_id AS requestId, id, checksum FROM approval_attachment',
    );
    this.#standing = db.prepare(
      `SELECT id, agent, role, tool, definition_hash AS definitionHash, created_at AS createdAt, until_at AS until,
         token_id AS tokenId, by_agent AS byAgent, reason, checksum FROM standing_approval ORDER BY created_at, id`,
    );
    this.#insertStanding = db.prepare(
      `INSERT INTO standing_approval
         (id, agent, role, tool, definition_hash, created_at, until_at, token_id, by_agent, reason, checksum)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    );
    this.#deleteStanding = db.prepare('DELETE FROM standing_approval WHERE id = ?');
    this.#size = db.prepare(
      `SELECT COUNT(*) AS rows, COALESCE(SUM(${sizeOfRow}), 0) AS bytes
       FROM approval a JOIN approval_end e ON e.id = a.id`,
    );
    this.#oldest = db.prepare(
      `SELECT a.id, ${sizeOfRow} AS bytes FROM approval a JOIN approval_end e ON e.id = a.id
       ORDER BY a.number LIMIT ?`,
    );
    this.#delete = ['approval', 'approval_end', 'approval_use', 'approval_attachment'].map((table) =>
      db.prepare(`DELETE FROM ${table} WHERE id = ?`),
    );
  }

  propose(call: ProposedCall): void {
    const values = valuesOf(call);
    this.#insert.run(...values, rowChecksum(...values));
  }

  /** Writes the end of an approval. Returns false if it had ended. */
  end(id: string, end: ApprovalEnd): boolean {
    const values = endValues(id, end);
    return this.#insertEnd.run(...values, rowChecksum(...values), id).changes > 0;
  }

  /** Notes that the call of an approval was made, or has ended. */
  use(id: string): void {
    this.#use.run(id, rowChecksum(id));
  }

  /**
   * Ends the approvals on which nobody has decided, and uses up all. Questions of agents' CLIs go on to wait, because nothing runs for them.
   */
  endAll(end: ApprovalEnd): void {
    for (const record of this.#all.all().map(toRecord)) {
      if (!record.end && record.definitionHash === unknownDefinition) continue;
      this.end(record.id, end);
      this.use(record.id);
    }
  }

  attach(id: string, { agent, requestId }: CallKey): void {
    this.#attach.run(agent, requestId, id, rowChecksum(agent, requestId, id));
  }

  find(id: string): ApprovalRecord | undefined {
    const row = this.#find.get(id);
    return row && toRecord(row);
  }

  findByKey(agent: string, idempotencyKey: string): ApprovalRecord | undefined {
    const row = this.#withKey.get(agent, idempotencyKey);
    return row && toRecord(row);
  }

  pending(): ApprovalRecord[] {
    return this.#pending
      .all()
      .map(toRecord)
      .filter(({ end }) => end === undefined);
  }

  list({ before = Number.MAX_SAFE_INTEGER, limit }: ApprovalQuery): NumberedApproval[] {
    return this.#page.all(before, limit).map((row) => ({ number: row.number, record: toRecord(row) }));
  }

  /** Yields the requests that are attached to an approval, and then those that have one of their own, which counts if a request has both. */
  *requests(): Generator<{ key: CallKey; id: string }> {
    for (const row of this.#attachments.iterate()) {
      const { agent, requestId, id } = row;
      if (isAttachmentSound(row)) yield { key: { agent, requestId }, id };
    }
    for (const { agent, requestId, id } of this.#all.iterate()) yield { key: { agent, requestId }, id };
  }

  standing(): StandingRecord[] {
    return this.#standing.all().filter(isStandingSound).map(toStanding);
  }

  addStanding(standing: StandingRecord): void {
    const values = standingValues(standing);
    this.#insertStanding.run(...values, rowChecksum(...values));
  }

  removeStanding(id: string): void {
    this.#deleteStanding.run(id);
  }

  /** Returns the number of damaged rows. No damaged approval counts as approved, and no damaged standing approval is in force. */
  countDamaged(): number {
    const isDamaged = (row: ApprovalRow) => !isSound(row);
    const rows = this.#all.all().filter(isDamaged).length;
    const uses = this.#uses.all().filter(({ id, checksum }) => checksum !== rowChecksum(id)).length;
    const attachments = this.#attachments.all().filter((row) => !isAttachmentSound(row)).length;
    return rows + uses + attachments + this.#standing.all().filter((row) => !isStandingSound(row)).length;
  }

  /** Deletes one small batch of the oldest ended approvals. Returns their ids; fewer than a batch if there are no more to delete. */
  prune({ rows: maxRows, bytes: maxBytes }: ApprovalRetention): string[] {
    const size = this.#size.get()!;
    let [rows, bytes] = [size.rows - maxRows, size.bytes - maxBytes];
    if (rows <= 0 && bytes <= 0) return [];
    const dropped: string[] = [];
    for (const oldest of this.#oldest.all(pruneBatch)) {
      if (rows <= 0 && bytes <= 0) break;
      rows--;
      bytes -= oldest.bytes;
      dropped.push(oldest.id);
    }
    for (const id of dropped) for (const statement of this.#delete) statement.run(id);
    return dropped;
  }
}

function valuesOf(call: ProposedCall): Value[] {
  const { id, agent, requestId, role, tool, server = null, definitionHash, argumentsHash } = call;
  const { metaHash = null, meta = null, hidden, rule, idempotencyKey = null, createdAt, deadlineAt } = call;
  const bound: Value[] = [id, agent, requestId, role, tool, server, definitionHash, argumentsHash];
  return [...bound, call.arguments, metaHash, meta, hidden, rule, idempotencyKey, createdAt, deadlineAt];
}

function endValues(id: string, { state, endedAt, by, reason }: ApprovalEnd): Value[] {
  return [id, state, endedAt, by?.tokenId ?? null, by?.agent ?? null, by?.standing ?? null, reason ?? null];
}

function standingValues({ by, reason, ...standing }: StandingRecord): Value[] {
  const { id, agent, role, tool, definitionHash, createdAt, until } = standing;
  return [id, agent, role, tool, definitionHash, createdAt, until, by.tokenId, by.agent, reason ?? null];
}

/** Converts a row to its approval. A damaged row approves nothing: it counts as superseded. */
function toRecord(row: ApprovalRow): ApprovalRecord {
  const { state, endedAt, tokenId, byAgent, standing, reason, server, metaHash, meta, idempotencyKey } = row;
  const proposed: ProposedCall = {
    id: row.id,
    agent: row.agent,
    requestId: row.requestId,
    role: row.role,
    tool: row.tool,
    ...(server !== null && { server }),
    definitionHash: row.definitionHash,
    argumentsHash: row.argumentsHash,
    arguments: row.arguments,
    ...(metaHash !== null && { metaHash }),
    ...(meta !== null && { meta }),
    hidden: row.hidden,
    rule: row.rule,
    ...(idempotencyKey !== null && { idempotencyKey }),
    createdAt: row.createdAt,
    deadlineAt: row.deadlineAt,
    ...(row.useChecksum !== null && { isUsed: true as const }),
  };
  if (!isSound(row)) {
    const end: ApprovalEnd = {
      state: 'superseded',
      endedAt: endedAt ?? row.createdAt,
      reason: 'its record was damaged on the disk',
    };
    return { ...proposed, end };
  }
  if (state === null || endedAt === null) return proposed;
  const by = tokenId !== null &&
    byAgent !== null && { tokenId, agent: byAgent, ...(standing !== null && { standing }) };
  return { ...proposed, end: { state, endedAt, ...(by && { by }), ...(reason !== null && { reason }) } };
}

function isSound(row: ApprovalRow): boolean {
  const { id, agent, requestId, role, tool, server, definitionHash, argumentsHash, idempotencyKey } = row;
  const { metaHash, meta, rule, createdAt, deadlineAt, checksum, state, endedAt, endChecksum } = row;
  const bound = [id, agent, requestId, role, tool, server, definitionHash, argumentsHash];
  const shown = [row.arguments, metaHash, meta, row.hidden];
  if (checksum !== rowChecksum(...bound, ...shown, rule, idempotencyKey, createdAt, deadlineAt)) return false;
  const { tokenId, byAgent, standing, reason } = row;
  return (
    endChecksum === null ||
    endChecksum === rowChecksum(id, state, endedAt, tokenId, byAgent, standing, reason)
  );
}

function isAttachmentSound({ agent, requestId, id, checksum }: AttachmentRow): boolean {
  return checksum === rowChecksum(agent, requestId, id);
}

function isStandingSound({ checksum, tokenId, byAgent, reason, ...row }: StandingRow): boolean {
  const { id, agent, role, tool, definitionHash, createdAt, until } = row;
  return (
    checksum ===
    rowChecksum(id, agent, role, tool, definitionHash, createdAt, until, tokenId, byAgent, reason)
  );
}

function toStanding({ tokenId, byAgent, reason, checksum: _, ...row }: StandingRow): StandingRecord {
  return { ...row, by: { tokenId, agent: byAgent }, ...(reason !== null && { reason }) };
}
