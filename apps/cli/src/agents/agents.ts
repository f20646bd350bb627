import {
  agentSummaries,
  type FailedProgram,
  listFailedPrograms,
  listHolds,
  listOfflineWithMail,
  type WaitingAgent,
} from '@signalbox/client/operator';
import {
  countQuestions,
  listWaiting,
  type OpenCalls,
  readOpenCalls,
  type WaitingQuestions,
} from '@signalbox/client/operator/internal';
import {
  type BudgetUse,
  type CallRecord,
  type ConnectedAgent,
  type Hold,
  isPermitted,
  operationPermissions,
  permissionsOfRole,
} from '@signalbox/protocol';
import { formatDuration } from '@signalbox/protocol/duration';
import { holdText } from '@signalbox/protocol/internal';
import { toolLabel } from '@signalbox/protocol/tool-label';
import { type ConnectedClient, withClient } from '../connection/connected-client.ts';
import type { ConnectionFlags } from '../connection/connection.ts';
import { questionLines } from '../messages/waiting-messages.ts';
import { count, printJson, printLines, printNotes, tableLines } from '../terminal/output.ts';
import { askedRole } from '../token/listed-roles.ts';
import { agentTable, optionalColumns } from './agent-rows.ts';
import { keptText, turnText } from './turn-text.ts';

/** The options of `signalbox agents`. */
export interface AgentsFlags extends ConnectionFlags {
  role?: string;
  json?: boolean;
}

/** The most offline agents that are listed. */
const maxOffline = 200;

/** The most turns and kept processes that are written out. */
const maxTurnLines = 20;

/** The most calls that are written out, those that take longest first. */
const maxCallLines = 10;

/** The most budgets that are written out. */
const maxBudgetLines = 10;

/** The most holds that are written out. */
const maxHoldLines = 5;

/**
 * Lists the connected agents, without this command's own connection. For operators also the offline ones that have mail or failed, the
 * holds, and the tool calls that run or wait.
 */
export async function listAgents(flags: AgentsFlags): Promise<void> {
  const { connections, offline, failed, questions, holds, open } = await withClient(
    flags,
    async (connected) => {
      const { client } = connected;
      const callers = await client.listConnected({
        withStatus: true,
        ...(flags.role !== undefined && { role: flags.role }),
      });
      const connections = callers.filter(({ address }) => address !== client.address);
      const offline = await offlineAgents(connected, flags.role);
      if (flags.role !== undefined && connections.length === 0 && offline?.agents.length === 0)
        await askedRole(connected, flags, flags.role);
      return {
        connections,
        offline,
        failed: await failedPrograms(connected, flags.role),
        questions: await waitingQuestions(connected),
        ...(await standstills(connected)),
      };
    },
  );
  const isWanted = ({ role }: { role: string }): boolean => flags.role === undefined || role === flags.role;
  if (flags.json)
    return printJson({
      agents: connections.map((one) => ({ ...one, status: one.status ?? null })),
      offline: offline?.agents ?? null,
      ...(offline && { more_offline: offline.more }),
      failed: failed ?? null,
      holds: holds ?? null,
      calls: open?.calls.filter(isWanted) ?? null,
      budgets: open?.budgets.filter(isWanted) ?? null,
      approvals_waiting: open?.waiting ?? null,
      questions: questions ?? null,
    });
  const { headings, rows } = agentTable(connections, offline?.agents ?? [], Date.now(), failed, holds);
  printLines(rows.length === 0 ? 'no agents are connected' : tableLines(headings, rows, { optionalColumns }));
  const notes = [
    ...turnLines(connections),
    ...callLines(open?.calls.filter(isWanted) ?? [], Date.now()),
    ...budgetLines(open?.budgets.filter(isWanted) ?? []),
    ...holdLines(holds, connections),
    ...approvalLines(open?.waiting ?? 0),
    ...questionLines(questions ?? []),
  ];
  if (notes.length > 0) printLines('', ...notes);
  if (offline?.more)
    printNotes(`More than ${maxOffline} agents are offline and have mail; the first are shown.`);
}

/** Asks for the offline agents with mail; `undefined` if the token may not see them. */
async function offlineAgents(
  { client }: ConnectedClient,
  role: string | undefined,
): Promise<{ agents: WaitingAgent[]; more: boolean } | undefined> {
  if (!isPermitted(operationPermissions.admin.waiting, permissionsOfRole(client.role))) return undefined;
  return await listOfflineWithMail(client, { limit: maxOffline, ...(role !== undefined && { role }) });
}

/** Asks for the agents whose programs ended with a failure; `undefined` if the token may not see them. */
async function failedPrograms(
  { client }: ConnectedClient,
  role: string | undefined,
): Promise<FailedProgram[] | undefined> {
  if (!isPermitted(operationPermissions.admin.failures, permissionsOfRole(client.role))) return undefined;
  const failed = await listFailedPrograms(client);
  return failed.filter((one) => role === undefined || one.role === role);
}

/** Counts the questions that wait for operators; `undefined` if the token may not see that. */
async function waitingQuestions({ client }: ConnectedClient): Promise<WaitingQuestions[] | undefined> {
  if (!isPermitted(operationPermissions.admin.waiting, permissionsOfRole(client.role))) return undefined;
  const { agents } = await listWaiting(client, { limit: maxOffline });
  return await countQuestions(
    client,
    agents.map(({ agent }) => agent),
  );
}

/** Asks what keeps agents from going on: the holds, and the calls that run or wait. Absent if the token may not see them. */
async function standstills({
  client,
}: ConnectedClient): Promise<{ holds?: Hold[]; open?: OpenCalls | undefined }> {
  const { admin, request } = operationPermissions;
  const permissions = permissionsOfRole(client.role);
  return {
    ...(isPermitted(admin.holds, permissions) && { holds: await listHolds(client) }),
    ...(isPermitted(request.servers, permissions) && {
      open: await readOpenCalls(client, await client.listConnected({ role: 'orchestrator' })),
    }),
  };
}

/** Writes the turns that run, and the processes that are kept. Only operators and the agent itself are told them. */
function turnLines(connections: readonly ConnectedAgent[]): string[] {
  const now = Date.now();
  const lines = agentSummaries(connections, []).flatMap(
    ({ agent, turns = [], kept_processes: kept = [] }) => [
      ...turns.map((turn) => `${agent} works on ${turnText(turn, now)}`),
      ...kept.map((process) => `${agent} keeps ${keptText(process, now)}`),
    ],
  );
  const more = lines.length - maxTurnLines;
  return [
    ...lines.slice(0, maxTurnLines),
    ...(more > 0 ? [`and ${more} more turns or kept processes; see: signalbox ps --json`] : []),
  ];
}

const callWords: Partial<Record<CallRecord['state'], string>> = {
  running: 'runs',
  queued: 'waits for its turn',
  held: 'is held',
  awaiting_approval: 'waits for a person',
};

/** Writes the calls that run or wait, the oldest first. `now` in epoch milliseconds. */
function callLines(calls: readonly CallRecord[], now: number): string[] {
  const oldest = calls.toSorted((a, b) => a.received_at - b.received_at);
  const more = oldest.length - maxCallLines;
  return [
    ...oldest.slice(0, maxCallLines).map((call) => {
      const { agent, state, started_at, received_at } = call;
      const age = formatDuration(now - (started_at ?? received_at));
      return `${agent}: ${toolLabel(call)} ${callWords[state] ?? state}, for ${age}`;
    }),
    ...(more > 0 ? [`and ${count(more, 'more call')}; see: signalbox tools calls --running`] : []),
  ];
}

/** Writes the budgets of which something is used, those with the least left first. */
function budgetLines(budgets: readonly BudgetUse[]): string[] {
  const more = budgets.length - maxBudgetLines;
  return [
    ...budgets.slice(0, maxBudgetLines).map(({ agent, role, used, calls, window_ms, wait_ms }) => {
      const left = wait_ms > 0 ? `the next in ${formatDuration(wait_ms)}` : `${calls - used} left`;
      const whose = agent ?? `the agents of role ${role} together`;
      return `${whose}: ${used} of ${count(calls, 'call')} in ${formatDuration(window_ms)} used, ${left}`;
    }),
    ...(more > 0 ? [`and ${count(more, 'more budget')}; see: signalbox ps --json`] : []),
  ];
}

/** Writes the holds and who placed them. A token that may not list holds is told those on the agents that it sees. */
function holdLines(holds: readonly Hold[] | undefined, connections: readonly ConnectedAgent[]): string[] {
  const texts = holds?.map(holdText) ?? [...new Set(connections.flatMap(({ on_hold }) => on_hold ?? []))];
  const more = texts.length - maxHoldLines;
  return [
    ...texts.slice(0, maxHoldLines),
    ...(more > 0 ? [`${count(more, 'further hold')}; list them with: signalbox holds`] : []),
  ];
}

function approvalLines(waiting: number): string[] {
  if (waiting === 0) return [];
  return [
    `${count(waiting, 'tool call')} ${waiting === 1 ? 'waits' : 'wait'} for a person; see: signalbox approvals`,
  ];
}
