import type { Caller } from '../caller.ts';
import type { FrameDeps } from '../frame-deps.ts';
import type { Refusal } from '../outcome.ts';

/** A refusal that names the parameter. */
export interface AdminRefusal {
  refusal: Refusal & { field: string };
}

/** The parameters of an operation, as they were sent. */
export type Params = Record<string, unknown>;

export type OperationResult = Promise<{ result: unknown } | AdminRefusal>;

/** One administrative operation. */
export type Operation = (params: Params, deps: FrameDeps, caller: Caller) => OperationResult;
