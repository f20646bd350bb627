import type { McpHost } from '@signalbox/mcp-host';
import {
  type ExplainRequest,
  type Explanation,
  holdText,
  type McpReply,
  toolCallError,
} from '@signalbox/protocol';
import { explainAsk } from '../approvals/ask-rules.ts';
import { parseArguments } from '../calls/call-arguments.ts';
import { nearestTool } from '../calls/tool-refusals.ts';
import type { CatalogTracker } from '../catalog/catalog-tracker.ts';
import type { HeldCalls } from '../holds/held-calls.ts';
import { explainRepeat } from '../roles/repeat-lists.ts';
import type { CallScheduler } from '../scheduling/call-scheduler.ts';

/** Says whether `role` may call `tool` now and whether a person must approve it, which rules decide that, and in which state the tool's server is. */
export async function explainTool(
  {
    host,
    scheduler,
    catalogs,
    holds,
  }: { host: McpHost; scheduler: CallScheduler; catalogs: CatalogTracker; holds: HeldCalls },
  { role, tool: name, arguments: given }: ExplainRequest,
): Promise<McpReply> {
  const read = given === undefined ? undefined : parseArguments(given);
  if (read?.problem !== undefined)
    return { error: toolCallError('invalid_arguments', read.problem, { mayHaveRun: false }) };
  const catalog = await catalogs.current();
  const tool = catalog.tool(name);
  const origin = catalog.inventory.origins.get(name);
  const isListed = catalog.everything().find(name) !== undefined;
  const { allowed, rule } = catalog.allowlist.explain(role, name, origin);
  const nearest = tool && allowed ? undefined : nearestTool(catalog.view(role), name);
  const changedAt = catalogs.changedAt(name);
  const target = tool && host.route(name).target;
  const server = target?.server;
  const status = host.servers().find((one) => one.name === server);
  const hold = holds.onEvery({ role, tool: name, origin });
  const explanation: Explanation = {
    tool: name,
    role,
    allowed,
    rule,
    ...(tool
      ? explainAsk(catalog.approvals, role, { tool, origin }, read?.arguments)
      : { ask: 'no' as const }),
    ...(hold && { held: holdText(hold) }),
    exists: tool !== undefined,
    hidden: tool !== undefined && !isListed,
    ...(server !== undefined && {
      server,
      ...(status && { state: status.state, circuit: status.circuit }),
      ...scheduler.serverLoad(server),
    }),
    ...(tool ? explainRepeat(catalogs.policy.repeat, tool, origin) : { repeat: 'unsafe' }),
    ...(target?.withheld && { withheld: [...target.withheld] }),
    ...(changedAt !== undefined && { changed_at: changedAt }),
    ...(nearest !== undefined && { nearest }),
  };
  return { data: explanation };
}
