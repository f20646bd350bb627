import type { ExplainMcpContentRequest, McpContentExplanation, McpReply } from '@signalbox/protocol';
import { holdText } from '@signalbox/protocol/internal';
import type { CatalogTracker } from '../catalog/catalog-tracker.ts';
import type { HeldCalls } from '../holds/held-calls.ts';
import { explainRead, routeMcpContent } from '../mcp-content/route-mcp-content.ts';

/** Tells whether `role` may use a prompt or a resource now, which rule decides that, and which server would be asked. */
export async function explainMcpContent(
  { catalogs, holds }: { catalogs: CatalogTracker; holds: HeldCalls },
  { role, kind, name }: ExplainMcpContentRequest,
): Promise<McpReply> {
  const { mcpContentRules } = await catalogs.current();
  const question =
    kind === 'prompt'
      ? { method: 'prompts/get' as const, params: { name } }
      : { method: 'resources/read' as const, params: { uri: name } };
  const routing = routeMcpContent(mcpContentRules, role, question);
  if ('refusal' in routing) {
    const { code, message } = routing.refusal;
    const isWithheld = code === 'definition_changed';
    const explanation: McpContentExplanation = {
      ...{ role, kind, name },
      allowed: code === 'not_found' || isWithheld,
      exists: isWithheld,
      ...(isWithheld && { withheld: true as const }),
      ...(routing.rule !== undefined && { rule: routing.rule }),
      ...(code === 'invalid_arguments' && { problem: message }),
    };
    return { data: explanation };
  }
  const { server, origin, resource, isUri } = routing.route;
  const { rule } = resource
    ? explainRead(mcpContentRules, role, { server, uri: resource.uri })
    : mcpContentRules.allowlist.explainPrompt(role, name, origin);
  const hold = holds.onEvery({ role, tool: routing.route.name, origin, isUri });
  const explanation: McpContentExplanation = {
    ...{ role, kind, name },
    allowed: true,
    exists: true,
    rule,
    server,
    ...(hold && { held: holdText(hold) }),
  };
  return { data: explanation };
}
