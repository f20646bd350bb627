/** One event for the audit log: a refusal, a token event or a policy change. `at` is in epoch milliseconds. */
export interface AuditEvent {
  at: number;
  /** Absent where no token was recognised. */
  tokenId?: string;
  agent?: string;
  code: string;
  /** One line, without secrets. */
  detail: string;
}

/** The events of one token, agent and code within one minute. `detail` is that of the last event. */
export interface AuditRow extends Omit<AuditEvent, 'at'> {
  minute: number;
  count: number;
  firstAt: number;
  lastAt: number;
}

/**
 * A log of events, counted per token, agent, code and minute. Its size is capped, so that a flood of refusals cannot fill the
 * disk.
 */
export interface AuditLog extends AsyncDisposable {
  /** Records an event. It is on disk within a second, and when the log is disposed. */
  record(event: AuditEvent): void;
  /** Rows whose last event is at or after `since`, oldest first. */
  query(since: number, limit: number): Promise<AuditRow[]>;
}
