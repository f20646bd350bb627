import type { McpHost } from '@signalbox/mcp-host';
import { type ExplainRequest, type Explanation, type McpReply, permissionsOfRole } from '@signalbox/protocol';
import { holdText } from '@signalbox/protocol/internal';
import { unfitArguments } from '../approvals/approval-errors.ts';
import type { Approvals } from '../approvals/approvals.ts';
import { explainAsk, explainAskedCall } from '../approvals/ask-rules.ts';
import { readArguments } from '../calls/call-arguments.ts';
import { nearestTool } from '../calls/tool-refusals.ts';
import type { CatalogTracker } from '../catalog/catalog-tracker.ts';
import type { HeldCalls } from '../holds/held-calls.ts';
import { explainRepeat } from '../roles/repeat-lists.ts';
import { matchesTool } from '../roles/tool-pattern.ts';
import type { CallScheduler } from '../scheduling/call-scheduler.ts';

/** The rule of repeating a call that needs approval: an approval is for one call, regardless of the server's declarations. */
const approvedOnce = { repeat: 'unsafe' as const, repeat_rule: 'a person approves one call' };

/**
 * Tells whether `role` may call `tool` now and whether a person must approve it, which rules decide that, and the state of the tool's
 * server.
 */
export async function explainTool(
  {
    host,
    scheduler,
    catalogs,
    holds,
    approvals,
  }: {
    host: McpHost;
    scheduler: CallScheduler;
    catalogs: CatalogTracker;
    holds: HeldCalls;
    approvals: Approvals | undefined;
  },
  { role, tool: name, arguments: given }: ExplainRequest,
): Promise<McpReply> {
  const catalog = await catalogs.current();
  const changed = catalog.inventory.changed.get(name);
  const tool = catalog.tool(name) ?? changed?.tool;
  const route = host.route(name);
  const read =
    given === undefined ? undefined : readArguments(host, route, given, { asWritten: tool === undefined });
  if (read?.error) return { error: read.error };
  const { origins } = catalog.inventory;
  const origin = origins.get(name);
  const all = catalog.everything();
  const isListed = all.find(name) !== undefined;
  const { allowed, rule } = catalog.allowlist.explain(role, name, origin);
  const matches = all.tools.filter((one) => matchesTool(name, one.name, origins.get(one.name))).length;
  const seen = permissionsOfRole(role).length > 0 ? all : catalog.view(role);
  const nearest = tool && allowed ? undefined : nearestTool(seen, name);
  const changedAt = catalogs.changedAt(name);
  const target = tool && route.target;
  const server = target?.server;
  const isPinned = tool !== undefined && server !== undefined && host.pinnedServers().includes(server);
  const status = host.servers().find((one) => one.name === server);
  const hold = holds.onEvery({ role, tool: name, origin });
  const shown = read && approvals?.shown(read.args);
  const hidesSome = shown !== undefined && 'hidden' in shown && shown.hidden > 0;
  const asked = !tool
    ? { ask: 'no' as const }
    : read
      ? explainAskedCall(catalog.approvals, role, { tool, origin }, { args: read.args, hidesSome })
      : explainAsk(catalog.approvals, role, { tool, origin });
  const problem = asked.ask === 'yes' && shown && 'problem' in shown ? shown.problem : undefined;
  const repeat = tool ? explainRepeat(catalogs.policy.repeat, tool, origin) : { repeat: 'unsafe' as const };
  const explanation: Explanation = {
    tool: name,
    role,
    allowed,
    rule,
    ...asked,
    ...(problem !== undefined && { ask_problem: unfitArguments(problem).message }),
    ...(hold && { held: holdText(hold) }),
    exists: tool !== undefined,
    hidden: tool !== undefined && !isListed && !changed,
    ...(server !== undefined && {
      server,
      ...(status && { state: status.state, circuit: status.circuit }),
      ...scheduler.serverLoad(server),
    }),
    ...(asked.ask === 'yes' ? approvedOnce : repeat),
    ...(target?.withheld && { withheld: [...target.withheld] }),
    ...(isPinned && { definition: changed?.what ?? ('pinned' as const) }),
    ...(changedAt !== undefined && { changed_at: changedAt }),
    // A tool that is in no list still has a name.
    matches: Math.max(matches, tool ? 1 : 0),
    ...(nearest !== undefined && { nearest }),
  };
  return { data: explanation };
}
