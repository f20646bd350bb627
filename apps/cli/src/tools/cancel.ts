import { cancelCall, listCalls } from '@signalbox/client/operator';
import { type CancelCallReply, SignalboxError } from '@signalbox/protocol';
import { withClient } from '../connection/connected-client.ts';
import { orchestratorOf, type ToolsFlags } from '../connection/orchestrator-request.ts';
import { exitCodes } from '../terminal/exit-codes.ts';
import { printJson, printLines } from '../terminal/output.ts';
import { callerOf, checkRequestId } from './result.ts';

/** The options of `signalbox tools cancel`. `of` is the agent that made the call, not the one that asks. */
export interface ToolsCancelFlags extends ToolsFlags {
  of?: string;
  reason?: string;
}

/**
 * Cancels a tool call of any agent, and prints whether its tool may have run. Exit code 1 says that it ended otherwise, or has not ended.
 */
export async function cancelToolCall(requestId: string, flags: ToolsCancelFlags): Promise<void> {
  checkRequestId(requestId);
  const { agent, reply } = await withClient(flags, async (connected) => {
    const { client } = connected;
    const orchestrator = await orchestratorOf(connected, flags);
    const agent = flags.of ?? callerOf(requestId, await listCalls(client, orchestrator));
    if (agent === undefined) throw unknownCall(requestId);
    const reply = await cancelCall(client, orchestrator, { agent, requestId }, flags.reason);
    return { agent, reply };
  });
  if (!reply.cancelled || reply.outcome === undefined) process.exitCode = exitCodes.failed;
  if (flags.json) printJson({ agent, request_id: requestId, ...reply });
  else printLines(sentence(agent, reply));
}

function unknownCall(requestId: string): SignalboxError {
  return new SignalboxError('usage', `the orchestrator knows no call with the id ${requestId}`, {
    details: { hint: 'signalbox tools calls --running lists the calls that wait or run' },
  });
}

function sentence(agent: string, { cancelled, state, outcome, may_have_run }: CancelCallReply): string {
  if (!cancelled) return `nothing was cancelled: the call of ${agent} had ended (${outcome})`;
  if (outcome === undefined)
    return `the call of ${agent} was told to stop and has not ended; it may have run. See: signalbox tools calls --running`;
  const effect = may_have_run
    ? 'its tool may have run: find out whether it took effect'
    : 'its tool has not run';
  return `cancelled the call of ${agent}, which was ${state.replace('_', ' ')}; ${effect}`;
}
