import { handBack } from '@signalbox/client';
import type { ToolCallResult } from '@signalbox/mcp-host/tool-calls';
import {
  forwardedMeta,
  frameDefaults,
  type McpReply,
  type ToolCallError,
  toolCallError,
} from '@signalbox/protocol';
import type { ApprovalRecord } from '@signalbox/store/journal';
import { deniedAsHidden, unfitArguments } from '../../approvals/approval-errors.ts';
import type { Approvals } from '../../approvals/approvals.ts';
import {
  type AskExplanation,
  explainAsk,
  type MatchingRules,
  matchingRules,
  mayAsk,
} from '../../approvals/ask-rules.ts';
import type { ShownArguments } from '../../approvals/call-digests.ts';
import type { Call } from '../call.ts';
import type { Attempt, CallDeps, Saying, Step } from '../step.ts';

/** Makes a call wait for the decision of a person if a rule demands it, or if it waited before. */
export const approval: Step<Attempt> = {
  name: 'approval',
  explain({ catalog, role, tool, origin, name, read }, { approvals }) {
    const none = { verdict: 'passes', says: 'no rule asks a person' } as const;
    if (tool === undefined) return none;
    if (!read || read.error)
      return explainedWithoutArguments(explainAsk(catalog.approvals, role, { tool, origin })) ?? none;
    const { asks: rule, deniesHidden } = matchingRules(catalog.approvals, role, { tool, origin }, read.args);
    if (rule === undefined) return none;
    const shown = approvals?.shown(read.args);
    if (shown && 'problem' in shown)
      return { verdict: 'refused', says: unfitArguments(shown.problem).message, rule };
    const denying = shown && shown.hidden > 0 ? deniesHidden() : undefined;
    return denying === undefined
      ? { verdict: 'waits', says: waitsForPerson, rule }
      : { verdict: 'refused', says: deniedAsHidden(name, denying).message, rule: denying };
  },
  before(next, deps) {
    const { approvals } = deps;
    const ask = async (asking: Approvals, call: Call): Promise<Attempt> =>
      (await decide(asking, deps, call)) ?? (await next(call));
    return (call) => {
      const asks = approvals !== undefined && (call.asked !== undefined || mayWait(call));
      const isWithheld = call.catalog.inventory.changed.has(call.name.tool);
      call.approval = undefined;
      // An answer to a server continues only the call that was approved, or that began before its definition was withheld.
      call.onlyContinues = call.isContinued && (asks || isWithheld);
      return asks && !call.onlyContinues ? ask(approvals, call) : next(call);
    };
  },
};

const waitsForPerson = 'a call waits until a person approves it';

/** Says what the rules do with some call of a tool; `undefined` if they do nothing. */
function explainedWithoutArguments({ ask, rule, hiddenRule }: AskExplanation): Saying | undefined {
  if (ask === 'no') return undefined;
  const hiding =
    hiddenRule === undefined
      ? ''
      : `, and is denied if a value of it would be hidden from those who decide (${hiddenRule})`;
  return ask === 'yes'
    ? { verdict: 'waits', says: `${waitsForPerson}${hiding}`, rule }
    : { verdict: 'depends', says: `the arguments decide whether a call waits for a person${hiding}`, rule };
}

/** Tells whether a rule may make the call wait for a decision. For nearly all calls this is a look-up. */
function mayWait({ catalog, tool, name }: Call): boolean {
  if (tool === undefined) return false;
  return mayAsk(catalog.approvals, name.role, { tool, origin: catalog.inventory.origins.get(name.tool) });
}

/** Resolves with the end of the call, or with `undefined` if it may go on. */
async function decide(approvals: Approvals, deps: CallDeps, call: Call): Promise<Attempt | undefined> {
  const { request, body, slot, tracked, asked } = call;
  const { agent, requestId, role, tool } = call.name;
  const rules = asked ? undefined : rulesOf(call);
  const rule = asked?.rule ?? rules?.asks;
  if (rule === undefined) return undefined;
  if (!request.mayWait) return handBack;
  if (asked) tracked.cleared(asked.id);
  const refusal = asked ? undefined : overBudget(deps, call);
  if (refusal) return { error: refusal };
  const shown = shownOf(approvals, call);
  if ('problem' in shown) return { error: unfitArguments(shown.problem) };
  const barring = shown.hidden > 0 ? rules?.deniesHidden() : undefined;
  if (barring !== undefined) return { error: deniedAsHidden(tool, barring) };
  // Many calls wait for a long time: their number bounds what they hold, so they take no room of others.
  slot[Symbol.dispose]();
  const definitionHash = approvals.definitionHash(tool) ?? asked?.definitionHash ?? '';
  const decision = await approvals.ask({
    request,
    bound: {
      ...{ agent, requestId, role, tool, definitionHash, argumentsHash: shown.hash },
      ...(shown.meta && { metaHash: shown.meta.hash }),
    },
    shown,
    rule,
    server: call.server,
    idempotencyKey: body.options?.idempotency_key,
    joins: true,
    mayStand: true,
    isKept: () => tracked.isTask,
    onWait: (id) => tracked.awaits(id),
  });
  switch (decision.status) {
    case 'approved':
      tracked.cleared(decision.record.id);
      call.approval = decision.record;
      // It waits for a server that is starting as long as its caller does: a person has decided on it, and would have to do so again.
      if (!call.route.target)
        await deps.host.listed(call.route, {
          timeoutMs: request.remainingMs() ?? frameDefaults.ttlMs,
          signal: request.cancellation,
        });
      return undefined;
    case 'refused':
      return { error: decision.error };
    case 'answered':
      return resultOf(decision.reply, decision.of);
    case 'handed_back':
      return handBack;
  }
}

/** Returns the reason why a call may not start although it was admitted: rules or tools have changed while it waited. */
export function barredMeanwhile(
  { approvals }: Pick<CallDeps, 'approvals'>,
  call: Call,
): ToolCallError | undefined {
  const { approval, read, body, name } = call;
  if (approval) {
    const shown = approvals?.shown(read.args, body.round);
    return approvals?.refusalToStart(approval, shown && 'hash' in shown ? shown.hash : '');
  }
  const rule = rulesOf(call)?.asks;
  return rule === undefined ? undefined : askedMeanwhile(name.tool, rule);
}

/** Finds the rules that match a call; `undefined` if its tool is unknown. */
function rulesOf({ catalog, tool, read, name }: Call): MatchingRules | undefined {
  if (tool === undefined) return undefined;
  const origin = catalog.inventory.origins.get(tool.name);
  return matchingRules(catalog.approvals, name.role, { tool, origin }, read.args);
}

/** Returns the refusal of a call that would be over its budget by now. Nobody is asked about it. */
function overBudget({ budgets }: CallDeps, { name }: Call): ToolCallError | undefined {
  const { agent, role } = name;
  const { takeBack, refusal } = budgets.take({ agent, role });
  takeBack?.();
  return refusal;
}

/**
 * Returns what those who decide see of a call. Until a tool is there that the arguments of a call fit that waited before, nobody knows what
 * its server will get, so that its record says what was shown. The call is compared again before it starts.
 */
function shownOf(
  approvals: Approvals,
  { body: { round, meta }, read: { args, fits }, asked }: Call,
): ShownArguments | { problem: string } {
  const beside = forwardedMeta(meta);
  if (!asked || fits) return approvals.shown(args, round, beside);
  const shown = approvals.shown({}, undefined, beside);
  if ('problem' in shown) return shown;
  return { ...shown, hash: asked.argumentsHash, text: asked.arguments, hidden: asked.hidden };
}

/** Returns the error for a call that must wait now, because the rules changed while it waited for its turn. */
function askedMeanwhile(tool: string, rule: string): ToolCallError {
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
