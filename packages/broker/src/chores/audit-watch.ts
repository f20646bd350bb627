import type { AuditLog } from '@signalbox/store';
import type { Log } from '../log.ts';

/** The part of the budget from which on the broker warns. */
const warnFrom = 0.5;
/** The further part of the budget after which the broker warns again. */
const step = 0.1;

/** Warns when those entries of the audit log that are never dropped use up their budget. */
export class AuditWatch {
  readonly #audit: Pick<AuditLog, 'usedPart'>;
  readonly #log: Log;
  #warnAt = warnFrom;

  constructor(audit: Pick<AuditLog, 'usedPart'>, log: Log) {
    this.#audit = audit;
    this.#log = log;
  }

  /** Checks the used part of the budget, and warns if it is too large. Call it now and then. */
  check(): void {
    const used = this.#audit.usedPart('change');
    if (used < this.#warnAt) return;
    this.#warnAt = used + step;
    this.#log({
      level: 'warn',
      event: 'audit_grows',
      message: `the audit log of changes has used ${Math.floor(used * 100)} % of its budget; its rows are never dropped, and when it is used up, minting tokens issue no more tokens: export it, stop the broker and move audit.db away`,
    });
  }
}
