import type {
  ApprovalEnd,
  ApprovalQuery,
  ApprovalRecord,
  ApprovalStore,
  CallKey,
  NumberedApproval,
  ProposedCall,
  StandingRecord,
} from '@signalbox/store/journal';
import type { PostgresDatabase, Statement } from '../internal.ts';
import type { Changes } from './changes.ts';
import { attempt, keptText } from './journal-error.ts';

interface ApprovalRow {
  number: number;
  details: string;
  ending: string | null;
  isUsed: boolean;
}

/** Keeps approvals in the tables of a journal. */
export class PostgresApprovals implements ApprovalStore {
  readonly #database: PostgresDatabase;
  readonly #changes: Changes;
  readonly #insert: Statement;
  readonly #end: Statement;
  readonly #use: Statement;
  readonly #replace: Statement;
  readonly #attach: Statement;
  readonly #of: Statement;
  readonly #find: Statement;
  readonly #withKey: Statement;
  readonly #pending: Statement;
  readonly #page: Statement;
  readonly #standing: Statement;
  readonly #addStanding: Statement;
  readonly #removeStanding: Statement;

  constructor(database: PostgresDatabase, changes: Changes) {
    this.#database = database;
    this.#changes = changes;
    const rows = 'SELECT a.number, a.details, a.ending, a.is_used AS "isUsed" FROM @approval a';
    this.#insert = database.statement(
      'INSERT INTO @approval (id, agent, request_id, idempotency_key, details, ending) VALUES ($1, $2, $3, $4, $5, $6)',
    );
    this.#end = database.statement(
      'UPDATE @approval SET ending = $2 WHERE id = $1 AND ending IS NULL RETURNING number',
    );
    this.#use = database.statement(
      'UPDATE @approval SET is_used = true WHERE agent = $1 AND request_id = $2',
    );
    this.#replace = database.statement('UPDATE @approval SET is_used = true WHERE id = $1');
    this.#attach = database.statement(
      `INSERT INTO @approval_attachment VALUES ($1, $2, $3)
       ON CONFLICT (agent, request_id) DO UPDATE SET id = excluded.id`,
    );
    this.#of = database.statement(
      `${rows} WHERE a.agent = $1 AND a.request_id = $2 UNION ALL
       ${rows} JOIN @approval_attachment t ON t.id = a.id WHERE t.agent = $1 AND t.request_id = $2 LIMIT 1`,
    );
    this.#find = database.statement(`${rows} WHERE a.id = $1`);
    this.#withKey = database.statement(
      `${rows} WHERE a.agent = $1 AND a.idempotency_key = $2 ORDER BY a.number DESC LIMIT 1`,
    );
    this.#pending = database.statement(`${rows} WHERE a.ending IS NULL ORDER BY a.number`);
    this.#page = database.statement(`${rows} WHERE a.number < $1 ORDER BY a.number DESC LIMIT $2`);
    this.#standing = database.statement('SELECT record FROM @standing_approval ORDER BY created_at, id');
    this.#addStanding = database.statement('INSERT INTO @standing_approval VALUES ($1, $2, $3)');
    this.#removeStanding = database.statement('DELETE FROM @standing_approval WHERE id = $1');
  }

  async propose(call: ProposedCall, end?: ApprovalEnd, instead?: string): Promise<void> {
    const { id, agent, requestId, idempotencyKey } = call;
    const key = idempotencyKey === undefined ? null : keptText(idempotencyKey);
    const values = [id, agent, requestId, key, JSON.stringify(call), end ? JSON.stringify(end) : null];
    await attempt(() =>
      this.#database.transaction(async (transaction) => {
        if (instead !== undefined) transaction.write(this.#replace, [instead]);
        await transaction.query(this.#insert, values);
        this.#changes.note('approvals', transaction);
      }),
    );
  }

  async end(id: string, end: ApprovalEnd, standing?: StandingRecord): Promise<boolean> {
    return await attempt(() =>
      this.#database.transaction(async (transaction) => {
        const ended = await transaction.query(this.#end, [id, JSON.stringify(end)]);
        if (ended.length === 0) return false;
        if (standing)
          transaction.write(this.#addStanding, [standing.id, standing.createdAt, JSON.stringify(standing)]);
        this.#changes.note('approvals', transaction);
        return true;
      }),
    );
  }

  async use({ agent, requestId }: CallKey): Promise<void> {
    await this.#write(this.#use, [agent, requestId]);
  }

  async attach(id: string, { agent, requestId }: CallKey): Promise<void> {
    await this.#write(this.#attach, [agent, requestId, id]);
  }

  async of({ agent, requestId }: CallKey): Promise<ApprovalRecord | undefined> {
    return await this.#one(this.#of, [agent, requestId]);
  }

  async find(id: string): Promise<ApprovalRecord | undefined> {
    return await this.#one(this.#find, [keptText(id)]);
  }

  async findByKey(agent: string, idempotencyKey: string): Promise<ApprovalRecord | undefined> {
    return await this.#one(this.#withKey, [agent, keptText(idempotencyKey)]);
  }

  async pending(): Promise<ApprovalRecord[]> {
    return (await this.#read<ApprovalRow>(this.#pending, [])).map(recordOf);
  }

  async list({ before = Number.MAX_SAFE_INTEGER, limit }: ApprovalQuery): Promise<NumberedApproval[]> {
    const rows = await this.#read<ApprovalRow>(this.#page, [before, limit]);
    return rows.map((row) => ({ number: row.number, record: recordOf(row) }));
  }

  async standing(): Promise<StandingRecord[]> {
    const rows = await this.#read<{ record: string }>(this.#standing, []);
    return rows.map(({ record }) => JSON.parse(record) as StandingRecord);
  }

  async removeStanding(id: string): Promise<void> {
    await attempt(() =>
      this.#database.transaction(async (transaction) => {
        await transaction.query(this.#removeStanding, [id]);
        this.#changes.note('approvals', transaction);
      }),
    );
  }

  onChanged(listener: () => void): () => void {
    return this.#changes.on('approvals', listener);
  }

  async #one(statement: Statement, values: string[]): Promise<ApprovalRecord | undefined> {
    const [row] = await this.#read<ApprovalRow>(statement, values);
    return row && recordOf(row);
  }

  #read<Row extends object>(statement: Statement, values: (string | number)[]): Promise<Row[]> {
    return attempt(() => this.#database.read<Row>(statement, values));
  }

  async #write(statement: Statement, values: string[]): Promise<void> {
    await attempt(() => this.#database.transaction((transaction) => transaction.query(statement, values)));
  }
}

function recordOf({ details, ending, isUsed }: ApprovalRow): ApprovalRecord {
  return {
    ...(JSON.parse(details) as ProposedCall),
    ...(ending !== null && { end: JSON.parse(ending) as ApprovalEnd }),
    ...(isUsed && { isUsed: true as const }),
  };
}
