import { type Approval, readJson, type StandingApproval } from '@signalbox/protocol';
import { formatDuration } from '@signalbox/protocol/duration';
import { toolLabel } from '@signalbox/protocol/tool-label';
import { count, factLines, linesOf, oneLine, tableLines } from '../terminal/output.ts';

const argumentsLength = 60;

/** Returns a table of approvals, as of a time in epoch milliseconds. */
export function approvalTable(approvals: readonly Approval[], now: number): string[] {
  const rows = approvals.map((approval) => [
    approval.id,
    stateOf(approval, now),
    approval.agent,
    approval.role,
    toolLabel(approval),
    oneLine(approval.arguments ?? '-', argumentsLength),
    `${formatDuration(now - approval.created_at)} ago`,
  ]);
  return tableLines(['ID', 'STATE', 'AGENT', 'ROLE', 'TOOL', 'ARGUMENTS', 'ASKED'], rows);
}

/** Returns everything that is known of one approval. */
export function approvalLines(approval: Approval, now: number): string[] {
  const { id, agent, role, tool, server, rule, request_id, arguments: args, meta, by, reason } = approval;
  const { hidden = 0, left_at, kept_until, host } = approval;
  return [
    ...factLines([
      ['approval', id],
      ['state', stateOf(approval, now)],
      ['agent', `${agent} (role ${role})`],
      ['tool', toolLabel({ tool, server })],
      ...(host === undefined ? [] : [['host', `${host}, where the tool runs`] as const]),
      ['rule', rule],
      ['asked', new Date(approval.created_at).toISOString()],
      ['deadline', new Date(approval.deadline_at).toISOString()],
      ['request', request_id],
      ...(left_at === undefined
        ? []
        : [
            [
              'caller',
              `stopped waiting at ${new Date(left_at).toISOString()}; an approval makes no call, and is kept for the next one that is the same`,
            ] as const,
          ]),
      ...(kept_until === undefined
        ? []
        : [['kept', `until ${new Date(kept_until).toISOString()}, for one call that is the same`] as const]),
      ...(hidden === 0 ? [] : [['hidden', hiddenText(hidden)] as const]),
      ...(approval.ended_at === undefined
        ? []
        : [['ended', new Date(approval.ended_at).toISOString()] as const]),
      ...(by ? [['by', deciderText(by)] as const] : []),
      ...(reason === undefined ? [] : [['reason', oneLine(reason, 500)] as const]),
    ]),
    ...(args === undefined ? [] : ['', ...linesOf(prettyJson(args))]),
    ...(meta === undefined
      ? []
      : ['', "The tool's server also gets this _meta:", ...linesOf(prettyJson(meta))]),
  ];
}

/** Returns a line for something that happened to an approval, for people who watch. */
export function watchLine(approval: Approval, now: number): string {
  const { id, agent, arguments: args = '' } = approval;
  const what = `${id}  ${stateOf(approval, now)}  ${agent}  ${toolLabel(approval)}`;
  return approval.state === 'pending' ? `${what}  ${oneLine(args, argumentsLength)}` : what;
}

/** Returns a table of standing approvals. */
export function standingTable(standing: readonly StandingApproval[], now: number): string[] {
  const rows = standing.map(({ id, agent, role, tool, until, by, reason }) => [
    id,
    agent,
    role,
    toolLabel({ tool }),
    `in ${formatDuration(until - now)}`,
    deciderText(by),
    oneLine(reason ?? '-', argumentsLength),
  ]);
  return tableLines(['ID', 'AGENT', 'ROLE', 'TOOL', 'ENDS', 'BY', 'REASON'], rows);
}

function stateOf({ state, deadline_at, left_at, by }: Approval, now: number): string {
  if (state === 'pending') {
    const caller = left_at === undefined ? '' : '; its caller stopped waiting';
    return `pending, ${formatDuration(deadline_at - now)} left${caller}`;
  }
  return by === undefined ? state : `${state} by ${by.agent}`;
}

function hiddenText(hidden: number): string {
  return `${count(hidden, 'value')}, shown as [hidden: …]: a token, or a secret of the entry that it names; the tool gets it as the agent wrote it`;
}

function deciderText({ agent, token_id, standing }: NonNullable<Approval['by']>): string {
  const how = standing === undefined ? `token ${token_id}` : `standing approval ${standing}`;
  return `${agent} (${how})`;
}

function prettyJson(text: string): string {
  try {
    return JSON.stringify(readJson(text), null, 2);
  } catch {
    return text;
  }
}
