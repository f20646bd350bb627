import { type CallList, readCalls, readManifest, readOwnCalls } from '@signalbox/client/operator';
import { maxCalls, maxOwnCalls } from '@signalbox/client/operator/internal';
import { callRecordSchema, permissionsOfRole, SignalboxError } from '@signalbox/protocol';
import { formatElapsed } from '@signalbox/protocol/duration';
import { nearestName, nearestTool } from '@signalbox/protocol/internal';
import { toolLabel } from '@signalbox/protocol/tool-label';
import { withClient } from '../connection/connected-client.ts';
import { orchestratorOf, type ToolsFlags } from '../connection/orchestrator-request.ts';
import { requireKnownAgent } from '../messages/why-waiting.ts';
import { count, instant, printJson, printLines, tableLines } from '../terminal/output.ts';

/** The options of `signalbox tools calls`. */
export interface ToolsCallsFlags extends ToolsFlags {
  running?: boolean;
  /** Shows calls of this many milliseconds up to now. */
  since?: number;
  /** The agent whose calls are shown. */
  about?: string;
  tool?: string;
  outcome?: string;
  limit: number;
}

/**
 * Prints tool calls: those that wait or run, and those that ended. An operator sees those of all agents, an agent its own that the
 * orchestrator knows of.
 */
export async function printCalls(flags: ToolsCallsFlags): Promise<void> {
  const { running, about, tool, outcome } = flags;
  if (outcome !== undefined)
    requirePart(
      'outcome or state',
      outcome,
      outcomes,
      nearestName(outcome, outcomes),
      `there are: ${outcomes.join(', ')}`,
    );
  const since = flags.since === undefined ? undefined : Math.max(0, Date.now() - flags.since);
  const { limit, seesAll, ...list } = await withClient(flags, async (connected) => {
    const { client } = connected;
    const seesAll = permissionsOfRole(client.welcome.role).length > 0;
    if (!seesAll && about !== undefined && about !== client.agent) {
      throw new SignalboxError('usage', `this token shows the calls of its own agent, '${client.agent}'`, {
        details: { hint: 'leave out --agent, or use a token of the operator' },
      });
    }
    const limit = Math.min(flags.limit, seesAll ? maxCalls : maxOwnCalls);
    const read = seesAll ? readCalls : readOwnCalls;
    const query = { running, since, agent: about, tool, outcome, limit };
    const orchestrator = await orchestratorOf(connected, flags);
    const list = await read(client, orchestrator, query);
    if (tool !== undefined && list.calls.length === 0) {
      const { tools = [] } = await readManifest(client, orchestrator);
      const names = tools.map(({ name }) => name);
      const near = nearestTool(tool, names);
      requirePart(
        'called or listed tool',
        tool,
        [...names, ...names.map((name) => toolLabel({ tool: name }))],
        near && toolLabel({ tool: near }),
        'signalbox tools list shows the tools',
      );
    }
    if (about !== undefined && list.calls.length === 0) await requireKnownAgent(connected, about, flags);
    return { ...list, limit, seesAll };
  });
  const { calls } = list;
  if (flags.json) return printJson(list);
  const notes = running || calls.length === limit ? [] : missingCalls(list, { seesAll, since });
  if (calls.length === 0)
    return printLines(running ? 'no tool call waits or runs' : 'no such tool calls in that time', ...notes);
  const rows = calls.map(
    ({
      agent,
      tool,
      server,
      state,
      received_at,
      started_at,
      finished_at,
      outcome,
      request_id,
      count: times,
    }) => [
      instant(started_at ?? received_at, Date.now()),
      agent,
      toolLabel({ tool, server }),
      times === undefined ? (outcome ?? state) : `${outcome} (${times} times)`,
      request_id,
      took(started_at ?? received_at, finished_at),
    ],
  );
  printLines(
    ...tableLines(['STARTED', 'AGENT', 'TOOL', 'OUTCOME', 'ID', 'TOOK'], rows, { optionalColumns: 1 }),
    '',
    calls.length < limit
      ? count(calls.length, 'call')
      : `${calls.length} calls; there may be more${limit < flags.limit ? '' : ': raise --limit'}.`,
    ...notes,
  );
}

/** The outcomes of calls, and the states of those that have not ended. */
const outcomes = [...callRecordSchema.shape.outcome.unwrap().options, callRecordSchema.shape.state].flatMap(
  ({ options }): string[] => options,
);

/** Throws `usage` if a text is a part of none of these names. */
function requirePart(
  what: string,
  text: string,
  names: readonly string[],
  near: string | undefined,
  hint: string,
): void {
  if (names.some((name) => name.toLowerCase().includes(text.toLowerCase()))) return;
  const meant = near === undefined ? '' : ` (did you mean '${near}'?)`;
  throw new SignalboxError('usage', `no ${what} has '${text}' in its name${meant}`, {
    details: { hint },
  });
}

/** Says which calls of the asked time the list does not have. */
function missingCalls(
  { known_since, searched_since }: CallList,
  { seesAll, since = 0 }: { seesAll: boolean; since: number | undefined },
): string[] {
  const now = Date.now();
  if (!seesAll && since < known_since)
    return [
      `Calls that came before ${instant(known_since, now)} are missing if they only read or were refused.`,
    ];
  if (searched_since === undefined) return [];
  return [`Calls that ended before ${instant(searched_since, now)} were not searched.`];
}

function took(start: number, end: number | undefined): string {
  const ms = (end ?? Date.now()) - start;
  return end === undefined ? `${formatElapsed(ms)} so far` : formatElapsed(ms);
}
