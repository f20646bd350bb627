import type { Caller } from '../caller.ts';
import type { FramePorts } from '../frame-ports.ts';
import type { Refusal } from '../outcome.ts';

/** A refusal that names the parameter. */
export interface AdminRefusal {
  refusal: Refusal & { field: string };
}

/** One administrative operation. Its parameters come as they were sent. */
export type Operation = (
  params: Record<string, unknown>,
  ports: FramePorts,
  caller: Caller,
) => Promise<{ result: unknown } | AdminRefusal>;
