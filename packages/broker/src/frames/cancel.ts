import { type CancelFrame, operationPermissions } from '@signalbox/protocol';
import { auditCaller, type Caller, mayDo } from './caller.ts';
import type { FrameDeps } from './frame-deps.ts';
import type { Outcome } from './outcome.ts';

/** Handles `cancel`: cancels a request that the caller sent, or a message that is not due. */
export function cancel(
  frame: CancelFrame,
  caller: Caller,
  deps: Pick<FrameDeps, 'delivery' | 'audit' | 'now'>,
): Outcome {
  const { sender, request_id: requestId } = frame;
  const own = caller.sender.agent;
  if (sender !== undefined && sender !== own && !mayDo(caller, operationPermissions.frame.cancel)) {
    const message = `field 'sender': you are '${own}', and cancel only what you sent`;
    return { refusal: { code: 'not_yours', message, field: 'sender' } };
  }
  const later = sender === undefined ? cancelOwn(frame, caller, deps) : cancelOf(sender, frame, caller, deps);
  return {
    later: later.then((scheduled) =>
      requestId === undefined
        ? undefined
        : { answer: { type: 'cancel_result', request_id: requestId, scheduled } },
    ),
  };
}

function cancelOwn(
  { to, correlation_id: id }: CancelFrame,
  { sender }: Caller,
  { delivery }: Pick<FrameDeps, 'delivery'>,
): Promise<number> {
  return delivery.cancellations.cancel(sender, to, id);
}

/** Cancels a message that is not due, and nothing else. */
async function cancelOf(
  agent: string,
  { to, correlation_id: id }: CancelFrame,
  caller: Caller,
  deps: Pick<FrameDeps, 'delivery' | 'audit' | 'now'>,
): Promise<number> {
  const cancelled = await deps.delivery.cancellations.cancelScheduled(agent, to, id);
  const detail = `the scheduled message '${id}' of '${agent}' to '${to}'`;
  if (cancelled > 0 && agent !== caller.sender.agent)
    auditCaller(caller, 'scheduled_cancelled', { detail, name: to }, deps);
  return cancelled;
}
