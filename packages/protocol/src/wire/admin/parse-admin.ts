import type { z } from 'zod';
import { SignalboxError } from '../../signalbox-error.ts';
import type { FrameRefusal } from '../parse-frame.ts';
import { type AdminOp, type AdminParams, type AdminResult, adminOperations } from './operations.ts';

/** The parameters of an operation, or the reason why they were refused. */
export type ParsedAdminParams<Op extends AdminOp> =
  | { params: AdminParams<Op>; refusal?: undefined }
  | { params?: undefined; refusal: FrameRefusal };

/** Reads the parameters of an operation of `admin`. Unknown ones are dropped; a refusal names the parameter and the rule. */
export function parseAdminParams<Op extends AdminOp>(
  op: Op,
  params: Record<string, unknown>,
): ParsedAdminParams<Op> {
  const schema = adminOperations()[op].params as unknown as z.ZodType<AdminParams<Op>>;
  const parsed = schema.safeParse(params);
  if (parsed.success) return { params: parsed.data };
  const { path, message } = parsed.error.issues[0]!;
  // A bad item of a list is refused under the name of the list. The text says which item it is.
  const names = path.filter((part) => typeof part === 'string');
  return {
    refusal: {
      code: 'bad_frame',
      message: `field '${['params', ...path].join('.')}' ${message}`,
      field: ['params', ...names].join('.'),
    },
  };
}

/** Reads the result of an operation of `admin`. Throws `internal` for one that does not have the form of this version. */
export function parseAdminResult<Op extends AdminOp>(op: Op, result: unknown): AdminResult<Op> {
  const schema = adminOperations()[op].result as unknown as z.ZodType<AdminResult<Op>>;
  const parsed = schema.safeParse(result);
  if (parsed.success) return parsed.data;
  const { path, message } = parsed.error.issues[0]!;
  throw new SignalboxError(
    'internal',
    `the broker's answer to '${op}' can't be read: field '${['result', ...path].join('.')}': ${message}`,
    { cause: parsed.error },
  );
}
