import type { Caller } from '../caller.ts';
import type { FrameDeps } from '../frame-deps.ts';
import type { Refusal } from '../outcome.ts';

/** The refusal of an operation. `field` names the parameter. */
export interface AdminRefusal {
  refusal: Refusal & { field: string };
}

/** The parameters of an operation as they were sent: nothing is checked yet. */
export type Params = Record<string, unknown>;

/** The result of an operation, as the answer holds it, or a refusal. */
export type OperationResult = Promise<{ result: unknown } | AdminRefusal>;

/** One administrative operation. */
export type Operation = (params: Params, deps: FrameDeps, caller: Caller) => OperationResult;
