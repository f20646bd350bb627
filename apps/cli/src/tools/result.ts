import type { BrokerClient } from '@signalbox/client';
import { listCalls, queryOrchestrator } from '@signalbox/client/operator';
import { replyError } from '@signalbox/client/operator/internal';
import {
  type CallRecord,
  type CallStatus,
  isPermitted,
  operationPermissions,
  permissionsOfRole,
  SignalboxError,
  toolErrorCodes,
} from '@signalbox/protocol';
import { withClient } from '../connection/connected-client.ts';
import { orchestratorOf, type ToolsFlags } from '../connection/orchestrator-request.ts';
import { requireKnownAgent } from '../messages/why-waiting.ts';
import { withdrawOnSignal } from '../process/stop-signals.ts';
import { exitCodeOf, exitCodes } from '../terminal/exit-codes.ts';
import { printJson, printLines } from '../terminal/output.ts';
import { printResult } from './print-result.ts';
import { labelledError } from './tool-name.ts';

/** The options of `signalbox tools result`. `of` is the agent that made the call, not the one that asks. */
export interface ToolsResultFlags extends ToolsFlags {
  of?: string;
}

/**
 * Prints the state of a call, with its reply if it has ended; for operators that of any agent. Exit code 75 says that it has not ended.
 */
export async function callResult(requestId: string, { of, ...flags }: ToolsResultFlags): Promise<void> {
  checkRequestId(requestId);
  const status = await withClient(flags, async (connected) => {
    const { client } = connected;
    using withdrawal = withdrawOnSignal();
    const { signal } = withdrawal;
    const orchestrator = await orchestratorOf(connected, flags);
    const ask = (agent: string | undefined) => {
      const question = { op: 'status' as const, request_id: requestId };
      const whole = agent === undefined ? question : { ...question, as_agent: agent };
      return queryOrchestrator(client, orchestrator, whole, { signal });
    };
    const own = await ask(of);
    if (own.state === 'unknown' && of !== undefined) await requireKnownAgent(connected, of, flags);
    if (own.state !== 'unknown' || !seesAll(client)) return own;
    const calls = await listCalls(client, orchestrator, { agent: of });
    const caller = callerOf(requestId, calls);
    if (caller === undefined) return own;
    const status = of === undefined ? await ask(caller) : own;
    // The audit log has the ends of calls that the orchestrator has forgotten.
    const { outcome } = calls.find(({ agent, request_id }) => agent === caller && request_id === requestId)!;
    if (status.state !== 'unknown' || outcome === undefined) return status;
    return { state: 'finished' as const, outcome };
  });
  if (status.state === 'finished') return printFinished(status, flags);
  process.exitCode = status.state === 'unknown' ? exitCodes.failed : exitCodes.retryable;
  if (flags.json) return printJson(status);
  if (status.state === 'awaiting_approval') printLines(awaiting(status.approval));
  else printLines(status.state === 'held' ? held(status.hold) : words[status.state]);
}

function seesAll({ welcome }: BrokerClient): boolean {
  return isPermitted(operationPermissions.frame.status, permissionsOfRole(welcome.role));
}

/** Returns the agent that made the call with an id, if one of the calls has it. Throws `usage` if several agents have such a call. */
export function callerOf(requestId: string, calls: readonly CallRecord[]): string | undefined {
  const of = calls.filter(({ request_id }) => request_id === requestId);
  const agents = [...new Set(of.map(({ agent }) => agent))];
  if (agents.length <= 1) return agents[0];
  throw new SignalboxError('usage', `several agents have a call with the id ${requestId}`, {
    details: { hint: `name one with --of: ${agents.join(', ')}` },
  });
}

function awaiting(approval: string): string {
  return `waiting: a person has to decide on the call (approval ${approval}); it has not run yet`;
}

function held(hold: string): string {
  return `held: ${hold}; it has not run yet`;
}

const words = {
  queued: 'queued: the call waits for its turn and has not run yet',
  running: 'running: the tool works on it',
  unknown:
    'unknown: the orchestrator knows no such call with this id; it never came there, or it is forgotten by now',
};

type Finished = CallStatus & { state: 'finished' };

function printFinished(status: Finished, { json }: ToolsFlags): void {
  const { reply, outcome } = status;
  process.exitCode = exitCodeOfOutcome(outcome);
  if (json) printJson(status);
  else if (reply === undefined) {
    printLines(`finished (${outcome}): its reply is no longer kept`);
  } else if ('result' in reply) {
    printLines('finished:');
    printResult(reply.result, 'the tool');
  } else if ('input_required' in reply) {
    printLines(
      'finished: the tool asked its caller for input; a call with the answers is a request of its own',
    );
  } else {
    throw labelledError(replyError(reply));
  }
}

function exitCodeOfOutcome(outcome: Finished['outcome']): number {
  if (outcome === 'ok' || outcome === 'input_required') return exitCodes.ok;
  if (outcome === 'tool_error') return exitCodes.failed;
  return exitCodeOf({ code: outcome, retryable: toolErrorCodes[outcome].retryable });
}

/** Throws `usage` if a text is not the id of a request. */
export function checkRequestId(id: string): void {
  if (/^(re:)?[!-~]{1,64}$/.test(id)) return;
  throw new SignalboxError('usage', `'${id}' is not the id of a request`, {
    details: { hint: 'it stands in what a failed tools call says, and in signalbox tools calls' },
  });
}
