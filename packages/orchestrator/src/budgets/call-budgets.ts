import { SignalboxError } from '@signalbox/protocol';

/** Allows at most `calls` calls in any period of `windowMs` milliseconds. */
export interface Budget {
  calls: number;
  windowMs: number;
}

/** The budgets of tool calls. A budget that is left out limits nothing. */
export interface CallBudgets {
  /** The budget of each worker. */
  perWorker?: Budget;
  /** The budget of each worker of a role, which replaces `perWorker`. */
  roles?: Readonly<Record<string, Budget>>;
  /** The budget that all workers of a role share, in addition to each worker's own. */
  perRole?: Readonly<Record<string, Budget>>;
}

/**
 * Checks budgets from a configuration. Throws `SignalboxError` `bad_config`, naming the field, for one that makes no
 * sense.
 */
export function checkBudgets({ perWorker, roles = {}, perRole = {} }: CallBudgets): void {
  if (perWorker) checkBudget('budgets.perWorker', perWorker);
  for (const [role, budget] of Object.entries(roles)) checkBudget(`budgets.roles.${role}`, budget);
  for (const [role, budget] of Object.entries(perRole)) checkBudget(`budgets.perRole.${role}`, budget);
}

function checkBudget(field: string, { calls, windowMs }: Budget): void {
  if (!Number.isSafeInteger(calls) || calls < 1) {
    throw new SignalboxError('bad_config', `${field}.calls must be a whole number from 1, not ${calls}`);
  }
  if (!Number.isFinite(windowMs) || windowMs <= 0) {
    throw new SignalboxError('bad_config', `${field}.windowMs must be a number above 0, not ${windowMs}`);
  }
}
