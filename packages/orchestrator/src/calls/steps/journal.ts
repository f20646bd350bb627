import { frameDefaults, mayRepeat, type ToolCallError } from '@signalbox/protocol';
import type { Call } from '../call.ts';
import type { Attempt, CallDeps, Step } from '../step.ts';

/**
 * Makes the start of a call that is not safe to repeat be written to the disk right before it is sent, so that it runs at most once. An
 * approved call is made once, regardless of its tool's declarations, and so is one that only continues a running call.
 */
export const journal: Step<Attempt> = {
  name: 'journal',
  explain({ repeat }, { journal }) {
    if (repeat?.repeat === 'safe')
      return {
        verdict: 'passes',
        says: 'the tool is safe to repeat, so that no start is written',
        rule: repeat.repeat_rule,
      };
    if (repeat?.repeat === 'unless_asked')
      return {
        verdict: 'depends',
        says: 'the start of a call is written before it is sent only if a person is asked about it',
        rule: repeat.repeat_rule,
      };
    const says = journal
      ? 'the start of a call is written before it is sent, so that it runs at most once'
      : 'without a journal, a call that a crash interrupts may run again';
    return { verdict: 'passes', says, ...(repeat && { rule: repeat.repeat_rule }) };
  },
  before(next, deps) {
    return (call) => {
      const { approval, tool, body } = call;
      call.isRepeatable =
        approval === undefined &&
        !body.hosted?.once &&
        !call.onlyContinues &&
        tool !== undefined &&
        mayRepeat(tool, true);
      // The server may have restarted meanwhile, with another definition of the tool.
      call.beforeSend = call.isRepeatable
        ? undefined
        : async () =>
            (approval && deps.approvals?.refusalToStart(approval)) ?? (await writeStart(deps, call));
      return next(call);
    };
  },
};

/** Writes the start of a call. Resolves with an error if that fails. */
async function writeStart(
  { now, ownership, fault }: CallDeps,
  { name, request, server, tracked, journaled }: Call,
): Promise<ToolCallError | undefined> {
  if (!journaled) return undefined;
  const { role, tool, thread } = name;
  const refusal = await journaled.start({
    ...{ role, tool },
    ...(thread !== undefined && { thread }),
    ...(server !== undefined && { server }),
    receivedAt: tracked.receivedAt,
    startedAt: tracked.startedAt ?? now(),
    inbox: ownership.inbox(),
    lifetimeMs: request.remainingMs() ?? frameDefaults.ttlMs,
  });
  if (!refusal) fault?.('orchestrator.journal.started');
  return refusal;
}
