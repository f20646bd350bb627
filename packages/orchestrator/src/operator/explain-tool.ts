import { type ExplainRequest, type Explanation, type McpReply, permissionsOfRole } from '@signalbox/protocol';
import { nearestTool } from '@signalbox/protocol/internal';
import { toolLabel } from '@signalbox/protocol/tool-label';
import {
  type ApprovalPolicy,
  type AskExplanation,
  type AskedTool,
  explainAsk,
  matchingRules,
} from '../approvals/ask-rules.ts';
import { readArguments } from '../calls/call-arguments.ts';
import type { ExplainDeps, Question } from '../calls/step.ts';
import { explainSteps } from '../calls/steps.ts';
import type { Catalog } from '../catalog/catalog.ts';
import type { CatalogTracker } from '../catalog/catalog-tracker.ts';
import { explainRepeat } from '../roles/repeat-lists.ts';
import { matchesTool } from '../roles/tool-pattern.ts';

/** The rule of repeating a call that needs approval: an approval is for one call, regardless of the server's declarations. */
const approvedOnce = { repeat: 'unsafe' as const, repeat_rule: 'a person approves one call' };

/** Says what each step would do with a call of `tool` by `role` now, and reports the state of the tool and its server. */
export async function explainTool(
  deps: ExplainDeps & { catalogs: CatalogTracker },
  { role, tool: named, arguments: given }: ExplainRequest,
): Promise<McpReply> {
  const { host, scheduler, catalogs } = deps;
  const catalog = await catalogs.current();
  const name = nameOf(catalog, named);
  const changed = catalog.inventory.changed.get(name);
  const tool = catalog.tool(name) ?? changed?.tool;
  const route = host.route(name);
  const read =
    given === undefined ? undefined : readArguments(host, route, given, { asWritten: tool === undefined });
  const { origins } = catalog.inventory;
  const origin = origins.get(name);
  const all = catalog.everything();
  const isListed = all.find(name) !== undefined;
  const { allowed } = catalog.allowlist.explain(role, name, origin);
  const matches = all.tools.filter((one) => matchesTool(name, one.name, origins.get(one.name))).length;
  const seen = permissionsOfRole(role).length > 0 ? all : catalog.view(role);
  // Only operators and observers ask, and they see all tools.
  const others = (tool ? seen : all).tools.map((one) => one.name);
  const nearest = tool && allowed ? undefined : nearestTool(name, others);
  const changedAt = catalogs.changedAt(name);
  const target = tool && route.target;
  const server = target?.server;
  const isPinned = tool !== undefined && server !== undefined && host.pinnedServers().includes(server);
  const status = host.servers().find((one) => one.name === server);
  const asks =
    tool && asksOf(catalog.approvals, role, { tool, origin }, read?.error ? undefined : read?.args);
  const repeat = tool && explainedRepeat(asks, explainRepeat(catalogs.policy.repeat, tool, origin));
  const explanation: Explanation = {
    tool: name,
    role,
    allowed,
    steps: explainSteps({ role, name, catalog, tool, origin, route, read, repeat }, deps),
    exists: tool !== undefined,
    hidden: tool !== undefined && !isListed && !changed,
    ...(server !== undefined && {
      server,
      ...(status && { state: status.state, circuit: status.circuit }),
      ...scheduler.serverLoad(server),
    }),
    ...(target?.withheld && { withheld: [...target.withheld] }),
    ...(isPinned && { definition: changed?.what ?? ('pinned' as const) }),
    ...(changedAt !== undefined && { changed_at: changedAt }),
    // A tool that is in no list still has a name.
    matches: Math.max(matches, tool ? 1 : 0),
    ...(nearest !== undefined && { nearest }),
  };
  return { data: explanation };
}

/**
 * Returns the name of the tool that is named as SERVER:TOOL, or as TOOL alone if one server has it, also if it is withheld or not listed. Any
 * other name is returned as it is.
 */
function nameOf(catalog: Catalog, named: string): string {
  const { changed, origins } = catalog.inventory;
  if (catalog.tool(named) || changed.has(named) || named.includes('*')) return named;
  const meant = [...origins].flatMap(([name, { server, tool }]) =>
    named === tool || named === `${server}:${tool}` || named === toolLabel({ tool: name }) ? [name] : [],
  );
  const all = catalog.everything();
  const listed = meant.filter((name) => all.find(name) !== undefined);
  const found = listed.length > 0 ? listed : meant;
  return found.length === 1 ? found[0]! : named;
}

/** Tells whether a person is asked about calls of a tool, or about the call with these arguments. */
function asksOf(
  policy: ApprovalPolicy,
  role: string,
  tool: AskedTool,
  args: Record<string, unknown> | undefined,
): AskExplanation['ask'] {
  if (args === undefined) return explainAsk(policy, role, tool).ask;
  return matchingRules(policy, role, tool, args).asks === undefined ? 'no' : 'yes';
}

function explainedRepeat(
  asks: AskExplanation['ask'] | undefined,
  repeat: ReturnType<typeof explainRepeat>,
): Question['repeat'] {
  if (asks === 'yes') return approvedOnce;
  return asks === 'by_arguments' && repeat.repeat === 'safe' ? { ...repeat, repeat: 'unless_asked' } : repeat;
}
