import {
  type CancelCallReply,
  type CancelCallRequest,
  type McpReply,
  readJson,
  type Sender,
  toolCallError,
} from '@signalbox/protocol';
import { within } from '@signalbox/serving';
import type { CallKey, Journal } from '@signalbox/store/journal';
import type { Approvals } from '../approvals/approvals.ts';
import type { CallRegistry } from '../calls/call-registry.ts';
import type { TrackedCall } from '../calls/tracked-call.ts';

/** The dependencies of {@link answerCancelCall}. */
export interface CancelCallDeps {
  registry: CallRegistry;
  journal: Journal | undefined;
  approvals: Approvals | undefined;
}

/** The longest wait of an operator for the end of a call that was cancelled, in milliseconds. */
const endMs = 5000;

/** Cancels a waiting or running call of any agent, and reports its end. A running call may have taken effect. */
export async function answerCancelCall(
  deps: CancelCallDeps,
  asker: Sender,
  { agent, request_id: requestId, reason }: CancelCallRequest,
): Promise<McpReply> {
  const key = { agent, requestId };
  const call = deps.registry.find(key);
  if (!call) return await endedBefore(deps, key);
  const { state } = call;
  await stopCall(deps, call, { by: asker, reason });
  await within(call.over, endMs);
  const { outcome } = call;
  const data: CancelCallReply = {
    cancelled: outcome === undefined || outcome === 'cancelled',
    state,
    ...(outcome !== undefined && { outcome }),
    may_have_run: mayHaveRun(call),
  };
  return { data };
}

/** Cancels a waiting or running call. Resolves when the approval that it waits for, if any, has ended. */
export async function stopCall(
  { approvals }: Pick<CancelCallDeps, 'approvals'>,
  call: TrackedCall,
  calledOff: NonNullable<TrackedCall['calledOff']>,
): Promise<void> {
  const { agent, requestId } = call.name;
  const approval = call.state === 'awaiting_approval' ? await approvals?.of({ agent, requestId }) : undefined;
  // A call that is attached to another waiting one is cancelled alone.
  if (!approval || approval.requestId !== requestId) return call.callOff(calledOff);
  call.calledOff = calledOff;
  const why = calledOff.reason === undefined ? '' : `: ${calledOff.reason}`;
  const isOff = await approvals?.cancel(approval.id, `${calledOff.by.agent} cancelled it${why}`);
  // Somebody decided at the same time, so the call may run by now.
  if (!isOff) call.callOff(calledOff);
}

function mayHaveRun({ outcome, replyText }: TrackedCall): boolean {
  if (outcome === undefined || replyText === undefined) return true;
  const reply = readJson(replyText) as McpReply;
  return !('error' in reply) || reply.error.may_have_run;
}

async function endedBefore({ registry, journal }: CancelCallDeps, key: CallKey): Promise<McpReply> {
  const status = registry.status(key);
  const known = status?.state === 'finished' ? status.outcome : undefined;
  const written = await journal?.find(key);
  const outcome = known ?? (written && (written.end?.outcome ?? 'outcome_unknown'));
  if (outcome !== undefined) {
    const reply = status?.state === 'finished' ? status.reply : undefined;
    const ran = reply && 'error' in reply ? reply.error.may_have_run : true;
    return { data: { cancelled: false, state: 'finished', outcome, may_have_run: ran } };
  }
  const text = `the orchestrator knows no call of '${key.agent}' with the id ${key.requestId}`;
  return {
    error: toolCallError('not_found', text, {
      mayHaveRun: false,
      hint: 'It has not come yet, or is forgotten. signalbox tools calls lists those that are known.',
    }),
  };
}
