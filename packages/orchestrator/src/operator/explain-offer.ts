import type { ExplainOfferRequest, McpReply, OfferExplanation } from '@signalbox/protocol';
import { holdText } from '@signalbox/protocol/internal';
import type { CatalogTracker } from '../catalog/catalog-tracker.ts';
import type { HeldCalls } from '../holds/held-calls.ts';
import { explainRead, routeOffer } from '../offers/route-offer.ts';

/** Tells whether `role` may use a prompt or a resource now, which rule decides that, and which server would be asked. */
export async function explainOffer(
  { catalogs, holds }: { catalogs: CatalogTracker; holds: HeldCalls },
  { role, kind, name }: ExplainOfferRequest,
): Promise<McpReply> {
  const { offerRules } = await catalogs.current();
  const question =
    kind === 'prompt'
      ? { method: 'prompts/get' as const, params: { name } }
      : { method: 'resources/read' as const, params: { uri: name } };
  const routing = routeOffer(offerRules, role, question);
  if ('refusal' in routing) {
    const { code, message } = routing.refusal;
    const isWithheld = code === 'definition_changed';
    const explanation: OfferExplanation = {
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
    ? explainRead(offerRules, role, { server, uri: resource.uri })
    : offerRules.allowlist.explainPrompt(role, name, origin);
  const hold = holds.onEvery({ role, tool: routing.route.name, origin, isUri });
  const explanation: OfferExplanation = {
    ...{ role, kind, name },
    allowed: true,
    exists: true,
    rule,
    server,
    ...(hold && { held: holdText(hold) }),
  };
  return { data: explanation };
}
