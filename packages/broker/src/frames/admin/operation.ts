import type { AdminOp, AdminParams, AdminResult } from '@signalbox/protocol';
import type { Caller } from '../caller.ts';
import type { FrameDeps } from '../frame-deps.ts';
import type { Refusal } from '../outcome.ts';

/** The result of an operation, or a refusal, which names the wrong parameter if there is one. */
export type OperationOutcome<Op extends AdminOp> = Promise<
  { result: AdminResult<Op> } | { refusal: Refusal; retryAfterMs?: number }
>;

/** Runs one operation of `admin`, with parameters that fit its schema. */
export type Operation<Op extends AdminOp> = (
  params: AdminParams<Op>,
  deps: FrameDeps,
  caller: Caller,
) => OperationOutcome<Op>;
