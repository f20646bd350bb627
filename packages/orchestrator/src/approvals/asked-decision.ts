import type { ServedRequest } from '@signalbox/client';
import type { McpReply, ToolCallError } from '@signalbox/protocol';
import type { ApprovalRecord, BoundCall, ProposedCall } from '@signalbox/store/journal';
import { errorOfEnd } from './approval-errors.ts';
import type { ShownArguments } from './call-digests.ts';

/** A call that has to wait because of a rule, or that waited before. */
export interface AskedCall {
  request: ServedRequest;
  bound: BoundCall;
  /** The arguments as those who decide see them. */
  shown: ShownArguments;
  rule: string;
  server: string | undefined;
  idempotencyKey: string | undefined;
  /** True if it gets the reply of an earlier identical call of its agent. */
  joins: boolean;
  /** False if no standing approval lets it run. */
  mayStand: boolean;
  /** Tells whether its caller was told, for good, that it need not wait: the call is a task, or was answered `pending`. */
  isKept: () => boolean;
  /** Called when the call begins to wait, with the id of its approval. */
  onWait: (id: string) => void;
}

/**
 * The result for a call that had to wait. `answered`: it was attached to another request, and gets the reply to that one. `handed_back`:
 * this process ends before a decision.
 */
export type Decision =
  | { status: 'approved'; record: ApprovalRecord }
  | { status: 'refused'; error: ToolCallError }
  | { status: 'answered'; reply: McpReply; of: ApprovalRecord }
  | { status: 'handed_back' };

/** Returns the result for the call of an approval. A call whose approval has not ended is handed back. */
export function decisionOf(record: ApprovalRecord): Decision {
  if (!record.end) return { status: 'handed_back' };
  const error = errorOfEnd(record);
  return error ? { status: 'refused', error } : { status: 'approved', record };
}

/** Tells a caller that its call waits, and for how long it can. `now` is in epoch milliseconds. */
export function tellWaiting(request: ServedRequest, { id, deadlineAt }: ApprovalRecord, now: number): void {
  request.progress({
    progress: 0,
    message: `waiting for approval ${id} by a person`,
    awaiting_approval: { id, remaining_ms: Math.max(0, deadlineAt - now) },
  });
}

/** Makes the record of a call that begins to wait at `createdAt` (epoch milliseconds), for `deadlineMs` at most. */
export function proposedCall(
  { request, bound, server, idempotencyKey, shown, rule }: AskedCall,
  { id, createdAt, deadlineMs }: { id: string; createdAt: number; deadlineMs: number },
): ProposedCall {
  const remainingMs = request.remainingMs() ?? Number.POSITIVE_INFINITY;
  // A caller with little time hears of the end before its own deadline passes.
  const most = remainingMs - Math.min(1000, remainingMs / 10);
  const { agent, requestId, role, tool, definitionHash, argumentsHash, metaHash } = bound;
  return {
    id,
    ...{ agent, requestId, role, tool, definitionHash, argumentsHash },
    ...(metaHash !== undefined && { metaHash }),
    ...(server !== undefined && { server }),
    ...(idempotencyKey !== undefined && { idempotencyKey }),
    arguments: shown.text,
    ...(shown.meta && { meta: shown.meta.text }),
    hidden: shown.hidden,
    rule,
    createdAt,
    deadlineAt: Math.ceil(createdAt + Math.min(deadlineMs, most)),
  };
}
