import { handBack } from '@signalbox/client';
import {
  type AskPermissionRequest,
  type CallRequest,
  questionHash,
  toolCallError,
} from '@signalbox/protocol';
import { type ApprovalRecord, unknownDefinition } from '@signalbox/store/journal';
import { unfitArguments } from '../approvals/approval-errors.ts';
import { oneUseRule } from '../approvals/approval-record.ts';
import type { CallSubject } from '../holds/held-calls.ts';
import type { Call, IncomingCall } from './call.ts';
import { parseArguments } from './call-arguments.ts';
import type { Attempt, CallDeps, Pass } from './step.ts';

/** The rules of questions, in place of a rule of the configuration. */
const rule = 'worker --permissions ask';

/**
 * Returns a question of an agent's CLI as a call of the tool `cli:tool`. No hosted tool has this name, because names of tools have no
 * colon.
 */
export function callOfQuestion({
  cli,
  tool,
  input,
  once,
  replaces,
}: AskPermissionRequest): Pick<IncomingCall, 'body' | 'question'> {
  const body: CallRequest = {
    op: 'call',
    tool: `${cli}:${tool}`,
    ...(input !== undefined && { arguments: input }),
  };
  return { body, question: { server: cli, tool, once, replaces } };
}

/**
 * Has a person decide whether an agent's CLI may use a tool of its own. The result only says that it may: nothing runs here, so a question
 * may always be answered again.
 */
export function permissionQuestion(deps: CallDeps): Pass<Attempt> {
  return (call) => decide(deps, call);
}

async function decide({ approvals, holds }: CallDeps, call: Call): Promise<Attempt> {
  const { request, body, slot, tracked, asked, question } = call;
  const { agent, requestId, role, tool } = call.name;
  if (!approvals || !question) return { error: nobodyToAsk() };
  if (asked) tracked.cleared(asked.id);
  if (question.replaces !== undefined)
    await approvals.supersede(
      { agent, requestId: question.replaces },
      'its agent changed what it wants to do, and asked anew',
    );
  const { arguments: args, problem } = parseArguments(body.arguments);
  if (problem !== undefined)
    return { error: toolCallError('invalid_arguments', problem, { mayHaveRun: false }) };
  const shown = approvals.shown(args);
  if ('problem' in shown) return { error: unfitArguments(shown.problem) };
  // Many questions wait for a long time: their number bounds what they hold, so they take no room of others.
  slot[Symbol.dispose]();
  const decision = await approvals.ask({
    request,
    bound: { agent, requestId, role, tool, definitionHash: unknownDefinition, argumentsHash: shown.hash },
    shown,
    rule: question.once ? oneUseRule : rule,
    server: question.server,
    idempotencyKey: undefined,
    // Each question is about one use of the tool, and its answer allows one use.
    joins: false,
    mayStand: question.once !== true,
    // Nothing runs here for a question whose asker is gone.
    isKept: () => true,
    onWait: (id) => tracked.awaits(id),
  });
  switch (decision.status) {
    case 'approved': {
      tracked.cleared(decision.record.id);
      const subject: CallSubject = { agent, role, tool, origin: question };
      if (holds.on(subject)) return { onHold: subject };
      tracked.running(question.server);
      const asking = { cli: question.server, tool: question.tool, input: body.arguments };
      return { result: allowed(decision.record, await questionHash(asking)) };
    }
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
