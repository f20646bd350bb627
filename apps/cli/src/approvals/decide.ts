import { decideApproval } from '@signalbox/client/operator';
import { type DecideReply, maxStandingMs, minStandingMs, SignalboxError } from '@signalbox/protocol';
import { formatDuration } from '@signalbox/protocol/duration';
import { toolLabel } from '@signalbox/protocol/tool-label';
import { withClient } from '../connection/connected-client.ts';
import { orchestratorOf, type ToolsFlags } from '../connection/orchestrator-request.ts';
import { exitCodes } from '../terminal/exit-codes.ts';
import { printJson, printLines, printNotes } from '../terminal/output.ts';

/** The options of `signalbox approve` and `signalbox deny`. `for` is in milliseconds. */
export interface DecideFlags extends ToolsFlags {
  reason?: string;
  for?: number;
}

/** Decides on a tool call that waits. A decision that comes too late changes nothing, says so, and ends the command with 1. */
export async function decide(id: string, verdict: 'approve' | 'deny', flags: DecideFlags): Promise<void> {
  const { reason, for: forMs } = flags;
  if (forMs !== undefined && (forMs < minStandingMs || forMs > maxStandingMs)) {
    throw new SignalboxError('usage', '--for is a time from 1s to 24h', {
      details: { hint: 'after it, the next call asks again; approve it then' },
    });
  }
  const decision = {
    verdict,
    ...(reason !== undefined && { reason }),
    ...(forMs !== undefined && { forMs }),
  };
  const reply = await withClient(
    flags,
    async (connected) =>
      await decideApproval(connected.client, await orchestratorOf(connected, flags), id, decision),
    { changes: !flags.json },
  );
  if (!reply.decided) process.exitCode = exitCodes.failed;
  if (flags.json) return printJson(reply);
  if (reply.decided) printLines(...decidedLines(reply));
  else printNotes(`signalbox: nothing was changed: ${lateText(reply)}`);
}

function decidedLines({ approval, standing }: DecideReply): string[] {
  const { id, state, agent, kept_until: keptUntil } = approval;
  const call = `the call of ${toolLabel(approval)} by ${agent}`;
  const approved =
    keptUntil === undefined
      ? `${call} runs unless its caller is gone`
      : `its caller stopped waiting, so ${call} is not made now. If it comes again by ${new Date(keptUntil).toISOString()}, it runs once`;
  return [
    state === 'approved' ? `${id}: approved; ${approved}` : `${id}: denied; ${call} is not made`,
    ...(standing
      ? [
          `Its further calls of this tool need no decision for ${formatDuration(standing.until - standing.created_at)}; end that with: signalbox approvals revoke ${standing.id}`,
        ]
      : []),
  ];
}

function lateText({ approval }: DecideReply): string {
  const { id, state, by, reason, tool } = approval;
  const why = reason === undefined ? '' : `: ${reason}`;
  switch (state) {
    case 'approved':
    case 'denied':
      return `approval ${id} was ${state} already by ${by?.agent ?? 'somebody'}${why}`;
    case 'expired':
      return `approval ${id} expired before; its caller was told`;
    case 'superseded':
      return `approval ${id} no longer fits its call${why}; the call is not made, and a new one asks again`;
    case 'cancelled':
      // Names of hosted tools have no colon: it was a question of an agent's CLI.
      return tool.includes(':')
        ? `the turn that asked approval ${id} has ended, and nothing ran`
        : `approval ${id} is ${state}${why}`;
    default:
      return `approval ${id} is ${state}${why}`;
  }
}
