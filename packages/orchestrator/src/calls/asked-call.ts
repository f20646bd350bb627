import { handBack } from '@signalbox/client';
import type { ToolCallResult } from '@signalbox/mcp-host/tool-calls';
import {
  type CallRequest,
  forwardedMeta,
  type McpReply,
  type Tool,
  type ToolCallError,
  toolCallError,
} from '@signalbox/protocol';
import type { ApprovalRecord } from '@signalbox/store/journal';
import { deniedAsHidden, unfitArguments } from '../approvals/approval-errors.ts';
import type { Approvals } from '../approvals/approvals.ts';
import { type MatchingRules, matchingRules } from '../approvals/ask-rules.ts';
import type { ShownArguments } from '../approvals/call-digests.ts';
import type { Catalog } from '../catalog/catalog.ts';
import type { ReadArguments } from './call-arguments.ts';
import type { IncomingCall } from './incoming-call.ts';

/** The facts about a call that may have to wait. `tool` is absent if its server is away and the call waited before. */
export interface ReadCall extends ReadArguments {
  catalog: Catalog;
  tool: Tool | undefined;
  server: string | undefined;
}

/** A call with its approval, if it waited before. */
export interface ReadCallWithApproval extends ReadCall {
  asked: ApprovalRecord | undefined;
}

/** The way in which a call may go on: at once (`approval` is absent), with an approval, or not at all. */
export type Clearance =
  | { ended?: undefined; approval?: ApprovalRecord }
  | { ended: ToolCallResult | typeof handBack };

/** Finds the rules that match a call; `undefined` if its tool is unknown. */
export function rulesOfCall(
  { catalog, tool, args }: Pick<ReadCall, 'catalog' | 'tool' | 'args'>,
  role: string,
): MatchingRules | undefined {
  if (tool === undefined) return undefined;
  const origin = catalog.inventory.origins.get(tool.name);
  return matchingRules(catalog.approvals, role, { tool, origin }, args);
}

/**
 * Makes a call wait for a decision if a rule demands it, or if the call waited before. `judge` says, before anybody is asked, what else
 * would prevent the call from running now.
 */
export async function clearCall(
  approvals: Approvals,
  { request, body, place, tracked }: IncomingCall,
  { asked: known, ...read }: ReadCallWithApproval,
  judge: () => ToolCallError | undefined,
): Promise<Clearance> {
  const { id: requestId, from } = request.message;
  const { agent, role } = from;
  const rules = known ? undefined : rulesOfCall(read, role);
  const rule = known?.rule ?? rules?.asks;
  if (rule === undefined) return {};
  if (known) tracked.cleared(known.id);
  const refusal = known ? undefined : judge();
  if (refusal) return { ended: { error: refusal } };
  const shown = shownOf(approvals, body, { ...read, asked: known });
  if ('problem' in shown) return { ended: { error: unfitArguments(shown.problem) } };
  const barring = shown.hidden > 0 ? rules?.deniesHidden() : undefined;
  if (barring !== undefined) return { ended: { error: deniedAsHidden(body.tool, barring) } };
  // Many calls wait for a long time: their number bounds what they hold, so they take no room of others.
  place[Symbol.dispose]();
  const definitionHash = approvals.definitionHash(body.tool) ?? known?.definitionHash ?? '';
  const decision = await approvals.ask({
    request,
    bound: {
      ...{ agent, requestId, role, tool: body.tool, definitionHash, argumentsHash: shown.hash },
      ...(shown.meta && { metaHash: shown.meta.hash }),
    },
    shown,
    rule,
    server: read.server,
    idempotencyKey: body.options?.idempotency_key,
    joins: true,
    onWait: (id) => tracked.awaits(id),
  });
  switch (decision.status) {
    case 'approved':
      tracked.cleared(decision.record.id);
      return { approval: decision.record };
    case 'refused':
      return { ended: { error: decision.error } };
    case 'answered':
      return { ended: resultOf(decision.reply, decision.of) };
    case 'handed_back':
      return { ended: handBack };
  }
}

/**
 * Returns what those who decide see of a call. Until a tool is there that the arguments of a call fit that waited before, nobody knows what
 * its server will get, so that its record says what was shown. The call is compared again before it starts.
 */
function shownOf(
  approvals: Approvals,
  { round, meta }: CallRequest,
  { args, fits, asked }: Pick<ReadCallWithApproval, 'args' | 'fits' | 'asked'>,
): ShownArguments | { problem: string } {
  const beside = forwardedMeta(meta);
  if (!asked || fits) return approvals.shown(args, round, beside);
  const shown = approvals.shown({}, undefined, beside);
  if ('problem' in shown) return shown;
  return { ...shown, hash: asked.argumentsHash, text: asked.arguments, hidden: asked.hidden };
}

/** Returns the error for a call that must wait now, because the rules changed while it waited for its turn. */
export function askedMeanwhile(tool: string, rule: string): ToolCallError {
  return toolCallError(
    'approval_superseded',
    `calls of '${tool}' need the approval of a person since this one began to wait for its turn (${rule})`,
    { mayHaveRun: false, hint: 'The call was not made. A new call asks a person.' },
  );
}

/** Returns the reply to the call to which a request was attached, and notes the attachment in it. */
function resultOf(reply: McpReply, { id, requestId }: ApprovalRecord): ToolCallResult {
  const of = `this is the reply to your earlier request ${requestId}, which was the same call (approval ${id})`;
  if ('error' in reply) {
    const { hint } = reply.error;
    return { error: { ...reply.error, hint: hint === undefined ? `${of}.` : `${hint} ${of}.` } };
  }
  const result = 'result' in reply ? reply.result : 'input_required' in reply ? reply.input_required : {};
  const { _meta } = result as { _meta?: Record<string, unknown> };
  return { result: { ...result, _meta: { ..._meta, 'signalbox/attached_to': requestId } } };
}
