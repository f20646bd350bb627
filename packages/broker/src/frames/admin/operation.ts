import type { ErrorCode } from '@signalbox/protocol';
import type { Session } from '../../session/session.ts';
import type { SessionContext } from '../context.ts';

export interface AdminRefusal {
  refusal: { code: ErrorCode; field: string; message: string };
}

/** One administrative operation. Its parameters come as they were sent. */
export type Operation = (
  session: Session,
  context: SessionContext,
  params: Record<string, unknown>,
) => Promise<{ result: unknown } | AdminRefusal>;
