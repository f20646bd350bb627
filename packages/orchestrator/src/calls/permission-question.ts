import { handBack } from '@signalbox/client';
import type { ToolCallResult } from '@signalbox/mcp-host/tool-calls';
import {
  type AskPermissionRequest,
  type CallRequest,
  questionHash,
  toolCallError,
} from '@signalbox/protocol';
import type { ApprovalRecord } from '@signalbox/store/journal';
import { unknownDefinition } from '@signalbox/store/journal';
import { unfitArguments } from '../approvals/approval-errors.ts';
import type { CallSubject } from '../holds/held-calls.ts';
import { parseArguments } from './call-arguments.ts';
import type { CallKind } from './call-kind.ts';
import type { IncomingCall } from './incoming-call.ts';
import type { RunCallDeps } from './run-call.ts';
import { type OnHold, runUnlessHeld } from './run-unless-held.ts';

/** The rule of a question, in place of a rule of the configuration. */
const rule = 'worker --permissions ask';

/**
 * Returns a question of an agent's CLI as a call of the tool `cli:tool`. No hosted tool has this name, because names of tools have no
 * colon.
 */
export function callOfQuestion({ cli, tool, input }: AskPermissionRequest): CallRequest {
  return { op: 'call', tool: `${cli}:${tool}`, ...(input !== undefined && { arguments: input }) };
}

/**
 * Questions of an agent's CLI whether it may use a tool of its own. A person decides on each of them. The result only says that it may:
 * nothing runs here, so a question may always be answered again.
 */
export function permissionQuestions({ cli, tool }: Pick<AskPermissionRequest, 'cli' | 'tool'>): CallKind {
  return {
    run: (deps, call) => runUnlessHeld(deps.holds, call, () => tryAsk(deps, call, { cli, tool })),
    mayRunAgain: async () => true,
  };
}

/** Asks a person, unless a hold is on the agent or the tool. */
async function tryAsk(
  { approvals, holds }: RunCallDeps,
  call: IncomingCall,
  { cli, tool }: { cli: string; tool: string },
): Promise<ToolCallResult | typeof handBack | OnHold> {
  const { request, body, place, tracked } = call;
  const { id: requestId, from } = request.message;
  const { agent, role } = from;
  if (!approvals) return { error: nobodyToAsk() };
  const subject: CallSubject = { agent, role, tool: body.tool, origin: { server: cli, tool } };
  const known = await approvals.of({ agent, requestId });
  if (known) tracked.cleared(known.id);
  // A question that was asked before continues to wait for its decision: its hold is checked when it is answered.
  else if (holds.on(subject)) return { onHold: subject };
  const { arguments: args, problem } = parseArguments(body.arguments);
  if (problem !== undefined)
    return { error: toolCallError('invalid_arguments', problem, { mayHaveRun: false }) };
  const shown = approvals.shown(args);
  if ('problem' in shown) return { error: unfitArguments(shown.problem) };
  // Many questions wait for a long time: their number bounds what they hold, so they take no room of others.
  place[Symbol.dispose]();
  const decision = await approvals.ask({
    request,
    bound: {
      agent,
      requestId,
      role,
      tool: body.tool,
      definitionHash: unknownDefinition,
      argumentsHash: shown.hash,
    },
    shown,
    rule,
    server: cli,
    idempotencyKey: undefined,
    // Each question is about one use of the tool, and its answer allows one use.
    joins: false,
    onWait: (id) => tracked.awaits(id),
  });
  switch (decision.status) {
    case 'approved':
      tracked.cleared(decision.record.id);
      if (holds.on(subject)) return { onHold: subject };
      tracked.running(cli);
      return { result: allowed(decision.record, await questionHash({ cli, tool, input: body.arguments })) };
    case 'refused':
      return { error: decision.error };
    case 'answered':
      return { error: toolCallError('internal', 'another question was answered', { mayHaveRun: false }) };
    case 'handed_back':
      return handBack;
  }
}

function allowed({ id, end }: ApprovalRecord, hash: string): Record<string, unknown> {
  const by = end?.by === undefined ? '' : ` by ${end.by.agent}`;
  return {
    content: [{ type: 'text', text: `approval ${id} was given${by}` }],
    structuredContent: { question_hash: hash },
  };
}

function nobodyToAsk() {
  return toolCallError(
    'internal',
    'nobody can be asked: this orchestrator has no journal in which it could write down what waits',
    { mayHaveRun: false },
  );
}
