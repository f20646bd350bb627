import { SignalboxError } from '@signalbox/protocol';

/** At most `calls` in any stretch of `windowMs` milliseconds. */
export interface Budget {
  calls: number;
  windowMs: number;
}

/** How often tools may be called, whatever runs at once. What is left out is not limited. */
export interface CallBudgets {
  /** For each worker. */
  perWorker?: Budget;
  /** For each worker of a role, instead of `perWorker`. */
  roles?: Readonly<Record<string, Budget>>;
  /** Shared by all workers of a role, besides the worker's own. */
  perRole?: Readonly<Record<string, Budget>>;
}

/** Throws `SignalboxError` `bad_config`, naming the field, for a budget that makes no sense. */
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
