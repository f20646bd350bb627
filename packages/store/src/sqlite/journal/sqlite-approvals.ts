import type {
  ApprovalEnd,
  ApprovalRecord,
  ProposedCall,
  StandingRecord,
} from '../../journal/approval-record.ts';
import type { ApprovalQuery, ApprovalStore, NumberedApproval } from '../../journal/approval-store.ts';
import type { CallKey } from '../../journal/call-key.ts';
import type { ApprovalRetention, ApprovalTable } from './approval-table.ts';
import type { GroupCommit } from './group-commit.ts';

/** Keeps approvals in the tables of a journal, with its commits. */
export class SqliteApprovals implements ApprovalStore {
  readonly #table: ApprovalTable;
  readonly #commits: Pick<GroupCommit, 'write'>;
  readonly #attempt: <T>(action: () => T) => T;
  /** The approval of each request that has one. Nearly all calls have none, and cost one look-up here. */
  readonly #ids: Map<string, string>;

  /** `attempt` converts the errors of SQLite to errors of the journal. */
  constructor(table: ApprovalTable, commits: Pick<GroupCommit, 'write'>, attempt: <T>(action: () => T) => T) {
    this.#table = table;
    this.#commits = commits;
    this.#attempt = attempt;
    this.#ids = new Map(Array.from(table.requests(), ({ key, id }) => [textOf(key), id]));
  }

  async propose(call: ProposedCall, end?: ApprovalEnd, instead?: string): Promise<void> {
    const write = () => {
      if (instead !== undefined) this.#table.use(instead);
      this.#table.propose(call);
      if (end) this.#table.end(call.id, end);
    };
    await this.#commits.write(write, { sync: true });
    this.#ids.set(textOf(call), call.id);
  }

  async end(id: string, end: ApprovalEnd, standing?: StandingRecord): Promise<boolean> {
    let isFirst = false;
    const write = () => {
      isFirst = this.#table.end(id, end);
      if (isFirst && standing) this.#table.addStanding(standing);
    };
    await this.#commits.write(write, { sync: true });
    return isFirst;
  }

  async use(request: CallKey): Promise<void> {
    await this.#commits.write(() => this.useNow(request), { sync: false });
  }

  /** Does the same as `use` within a transaction of the caller. A request that is attached to an approval does not use it up. */
  useNow(request: CallKey): void {
    const id = this.#ids.get(textOf(request));
    const record = id === undefined ? undefined : this.#table.find(id);
    if (record?.requestId === request.requestId) this.#table.use(record.id);
  }

  async attach(id: string, request: CallKey): Promise<void> {
    await this.#commits.write(() => this.#table.attach(id, request), { sync: true });
    this.#ids.set(textOf(request), id);
  }

  of(request: CallKey): Promise<ApprovalRecord | undefined> | undefined {
    if (this.#ids.size === 0) return undefined;
    const id = this.#ids.get(textOf(request));
    return id === undefined ? undefined : this.find(id);
  }

  async find(id: string): Promise<ApprovalRecord | undefined> {
    return this.#attempt(() => this.#table.find(id));
  }

  async findByKey(agent: string, idempotencyKey: string): Promise<ApprovalRecord | undefined> {
    return this.#attempt(() => this.#table.findByKey(agent, idempotencyKey));
  }

  async pending(): Promise<ApprovalRecord[]> {
    return this.#attempt(() => this.#table.pending());
  }

  async list(query: ApprovalQuery): Promise<NumberedApproval[]> {
    return this.#attempt(() => this.#table.list(query));
  }

  async standing(): Promise<StandingRecord[]> {
    return this.#attempt(() => this.#table.standing());
  }

  async removeStanding(id: string): Promise<void> {
    await this.#commits.write(() => this.#table.removeStanding(id), { sync: true });
  }

  /** Does nothing: no other process uses the journal. */
  onChanged(): () => void {
    return () => {};
  }

  /** Deletes one small batch of old approvals, within a transaction of the caller. Returns true if there may be more to delete. */
  prune(retention: ApprovalRetention): boolean {
    const dropped = new Set(this.#table.prune(retention));
    if (dropped.size === 0) return false;
    for (const [key, id] of this.#ids) if (dropped.has(id)) this.#ids.delete(key);
    return true;
  }
}

function textOf({ agent, requestId }: CallKey): string {
  return `${agent} ${requestId}`;
}
