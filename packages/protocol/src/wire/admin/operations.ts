import type { z } from 'zod';
import { backupOperations } from './backups.ts';
import { clockOperations } from './clock.ts';
import { deadLetterOperations } from './dead-letters.ts';
import { holdOperations } from './holds.ts';
import { hookOperation } from './hooks.ts';
import { reportOperations } from './reports.ts';
import { samplesOperation } from './samples.ts';
import { scheduleOperation } from './schedules.ts';
import { signInOperation } from './sign-in.ts';
import { tailOperation } from './tail.ts';
import { threadOperations } from './threads.ts';
import { tokenOperations } from './tokens.ts';

function describeOperations() {
  return {
    ...tokenOperations(),
    ...deadLetterOperations(),
    ...reportOperations(),
    ...samplesOperation(),
    ...threadOperations(),
    ...tailOperation(),
    ...clockOperations(),
    ...backupOperations(),
    ...hookOperation(),
    ...scheduleOperation(),
    ...signInOperation(),
    ...holdOperations(),
  };
}

type Operations = ReturnType<typeof describeOperations>;

/** The name of an operation of `admin`. */
export type AdminOp = keyof Operations;
/** The parameters of an operation of `admin`. */
export type AdminParams<Op extends AdminOp> = z.infer<Operations[Op]['params']>;
/** The result of an operation of `admin`. Times are epoch milliseconds of the broker's clock. */
export type AdminResult<Op extends AdminOp> = z.infer<Operations[Op]['result']>;

let operations: Operations | undefined;

/**
 * Returns every operation of `admin`, by its `op`. The broker's check of parameters, the types of both sides, the reading of results and
 * the page of the protocol come from here. {@link operationPermissions} says which callers may use which operation.
 *
 * The schemas are built at the first call: most processes never use an operation, and would pay about 4 ms of processor time at their
 * start.
 */
export function adminOperations(): Operations {
  operations ??= describeOperations();
  return operations;
}

/** Tells whether a text is the name of an operation of `admin`. */
export function isAdminOp(op: string): op is AdminOp {
  return Object.hasOwn(adminOperations(), op);
}
