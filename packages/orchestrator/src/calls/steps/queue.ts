import { handBack, type ServedRequest } from '@signalbox/client';
import { type ToolCallError, toolCallError } from '@signalbox/protocol';
import type { NoTurn } from '../../scheduling/call-scheduler.ts';
import { queueRefusal } from '../../scheduling/queue-refusal.ts';
import type { Call } from '../call.ts';
import type { Attempt, CallDeps, Pass, Step } from '../step.ts';

/** Makes a call wait until the limits of all calls, of its server and of its agent have room for it. */
export const queue = {
  name: 'queue',
  explain({ route, name }, { scheduler }) {
    const { running, waiting } = scheduler.serverLoad(route.server ?? name);
    return {
      verdict: 'passes',
      says: `a call waits for its turn; on its server ${running} run and ${waiting} wait now`,
    };
  },
  before(next: Pass<Attempt>, { scheduler }: Pick<CallDeps, 'scheduler'>): Pass<Attempt> {
    return async (call) => {
      const { name, request, tracked, server } = call;
      const worker = call.body.hosted?.caller?.agent ?? name.agent;
      const turn = scheduler.enter(
        { worker, server: server ?? name.tool },
        request.cancellation,
        (position) => tracked.waits(position),
      );
      const got = turn instanceof Promise ? await turn : turn;
      if (got.status !== 'begun') {
        call.takeBack();
        return endedUnbegun(call, worker, got);
      }
      try {
        const ended = await next(call);
        if (typeof ended === 'object' && 'onHold' in ended) call.takeBack();
        return ended;
      } finally {
        got.end();
      }
    };
  },
} satisfies Step<Attempt>;

/** Returns the end of a call that did not get its turn. */
function endedUnbegun({ request, body }: Call, worker: string, turn: NoTurn): Attempt {
  switch (turn.status) {
    case 'handed_back':
      // A later round goes on with a call that has begun.
      return turn.refusal
        ? { error: { ...turn.refusal, may_have_run: body.round?.request_state !== undefined } }
        : handBack;
    case 'refused':
      return { error: queueRefusal(worker, turn) };
    case 'aborted':
      return { error: neverStarted(request) };
  }
}

/** Returns the error for a call that was cancelled, or whose deadline passed, before it started. */
export function neverStarted(request: ServedRequest): ToolCallError {
  const remaining = request.remainingMs();
  return remaining !== undefined && remaining <= 0
    ? toolCallError('tool_timeout', 'the deadline of the call passed before it could start', {
        mayHaveRun: false,
      })
    : toolCallError('cancelled', 'the call was cancelled before it started', { mayHaveRun: false });
}
