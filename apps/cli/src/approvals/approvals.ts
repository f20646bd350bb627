import { setTimeout as delay } from 'node:timers/promises';
import {
  listApprovals,
  listStandingApprovals,
  readApproval,
  revokeStandingApproval,
} from '@signalbox/client/operator';
import { type Approval, SignalboxError } from '@signalbox/protocol';
import { toolLabel } from '@signalbox/protocol/tool-label';
import { type ConnectedClient, withClient } from '../connection/connected-client.ts';
import { orchestratorOf, type ToolsFlags } from '../connection/orchestrator-request.ts';
import { stopRequested } from '../process/stop-signals.ts';
import { count, printJson, printLines, printNotes } from '../terminal/output.ts';
import { approvalLines, approvalTable, standingTable, watchLine } from './approval-lines.ts';

const lookEveryMs = 1000;
/** The most calls that may wait at a time. */
const mostPending = 1000;

/** The options of `signalbox approvals`. */
export interface ApprovalsFlags extends ToolsFlags {
  all?: boolean;
  watch?: boolean;
  limit: number;
}

/** Prints the tool calls that wait for a decision, or also those that have ended. */
export async function printApprovals(flags: ApprovalsFlags): Promise<void> {
  if (flags.watch) return await watchApprovals(flags);
  const { all = false, limit } = flags;
  const { approvals, more } = await withClient(
    flags,
    async (connected) =>
      await listApprovals(connected.client, await orchestratorOf(connected, flags), { all, limit }),
  );
  if (flags.json) return printJson({ approvals, more });
  if (approvals.length === 0) return printLines(all ? 'no tool call has waited for a person' : nothing);
  printLines(
    ...approvalTable(approvals, Date.now()),
    '',
    more
      ? `${approvals.length} approvals; there are more: raise --limit.`
      : `${count(approvals.length, 'approval')}; see one with: signalbox approvals show ID`,
  );
}

const nothing = 'no tool call waits for a person';

/** Prints one approval with all its arguments. */
export async function showApproval(id: string, flags: ToolsFlags): Promise<void> {
  const approval = await withClient(
    flags,
    async (connected) => await readApproval(connected.client, await orchestratorOf(connected, flags), id),
  );
  if (flags.json) return printJson({ approval });
  printLines(...approvalLines(approval, Date.now()));
}

/** Prints the standing approvals that are in force. */
export async function printStanding(flags: ToolsFlags): Promise<void> {
  const standing = await withClient(
    flags,
    async (connected) =>
      await listStandingApprovals(connected.client, await orchestratorOf(connected, flags)),
  );
  if (flags.json) return printJson({ standing });
  if (standing.length === 0) return printLines('no standing approval is in force');
  printLines(...standingTable(standing, Date.now()), '', 'End one with: signalbox approvals revoke ID');
}

/** Ends a standing approval. */
export async function revokeStanding(id: string, flags: ToolsFlags): Promise<void> {
  const revoked = await withClient(
    flags,
    async (connected) =>
      await revokeStandingApproval(connected.client, await orchestratorOf(connected, flags), id),
    { changes: !flags.json },
  );
  if (flags.json) return printJson({ revoked });
  printLines(
    `standing approval ${id} is over: calls of ${toolLabel(revoked)} by ${revoked.agent} ask again.`,
  );
}

/** Prints what waits, and each change, until the process is asked to end. */
async function watchApprovals(flags: ApprovalsFlags): Promise<void> {
  const stopped = new AbortController();
  void stopRequested().then(() => stopped.abort());
  await withClient(flags, async (connected) => {
    connected.waits[Symbol.dispose]();
    const seen = new Map<string, Approval>();
    let isAway = false;
    /** Goes on while the orchestrator restarts. */
    const whileAway = (thrown: unknown): Approval[] => {
      if (!(thrown instanceof SignalboxError) || !(thrown.retryable || thrown.code === 'timed_out'))
        throw thrown;
      if (!isAway && !flags.json) printNotes(`signalbox: ${thrown.message}; trying again`);
      isAway = true;
      return [];
    };
    if (!flags.json) printLines('watching the tool calls that wait for a person; Ctrl-C ends it');
    while (!stopped.signal.aborted) {
      const changes = await changesSince(seen, connected, flags).catch(whileAway);
      if (changes.length > 0) isAway = false;
      for (const approval of changes) {
        if (flags.json) printJson({ approval });
        else printLines(watchLine(approval, Date.now()));
      }
      await delay(lookEveryMs, undefined, { signal: stopped.signal }).catch(() => {});
    }
  });
}

/** Reads the approvals that are new, and those that have ended, and remembers which wait. */
async function changesSince(
  seen: Map<string, Approval>,
  connected: ConnectedClient,
  flags: ToolsFlags,
): Promise<Approval[]> {
  const { client } = connected;
  const orchestrator = await orchestratorOf(connected, flags);
  const { approvals } = await listApprovals(client, orchestrator, { limit: mostPending });
  const waiting = new Map(approvals.map((approval) => [approval.id, approval]));
  const changes: Approval[] = [];
  for (const id of seen.keys()) {
    if (waiting.has(id)) continue;
    seen.delete(id);
    changes.push(await readApproval(client, orchestrator, id));
  }
  for (const approval of approvals.reverse()) {
    if (seen.has(approval.id)) continue;
    seen.set(approval.id, approval);
    changes.push(approval);
  }
  return changes;
}
