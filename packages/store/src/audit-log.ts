/** One thing worth keeping: a refusal, a token event, a policy change. `at` in epoch milliseconds. */
export interface AuditEvent {
  at: number;
  /** Absent where no token was recognised. */
  tokenId?: string;
  agent?: string;
  code: string;
  /** One line, without secrets. */
  detail: string;
}

/** Events of one token, agent and code within one minute. `detail` is the last one's. */
export interface AuditRow extends Omit<AuditEvent, 'at'> {
  minute: number;
  count: number;
  firstAt: number;
  lastAt: number;
}

/** Aggregated per token, agent, code and minute and capped in size, so that a flood of refusals cannot fill the disk. */
export interface AuditLog extends AsyncDisposable {
  /** Buffered; on disk within a second, and when disposed. */
  record(event: AuditEvent): void;
  /** Rows whose last event is at or after `since`, oldest first. */
  query(since: number, limit: number): Promise<AuditRow[]>;
}
