import { queryOrchestrator } from '@signalbox/client/operator';
import { replyError } from '@signalbox/client/operator/internal';
import { type CallStatus, SignalboxError, toolErrorCodes } from '@signalbox/protocol';
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
 * Prints the state of a call, with its reply if it has ended. Operators may name a call of any agent. Exit code 75 says that it has not
 * ended.
 */
export async function callResult(requestId: string, { of, ...flags }: ToolsResultFlags): Promise<void> {
  checkRequestId(requestId);
  const status = await withClient(flags, async (connected) => {
    using withdrawal = withdrawOnSignal();
    const query = {
      op: 'status' as const,
      request_id: requestId,
      ...(of !== undefined && { as_agent: of }),
    };
    const options = { signal: withdrawal.signal };
    const orchestrator = await orchestratorOf(connected, flags);
    const found = await queryOrchestrator(connected.client, orchestrator, query, options);
    if (of !== undefined && found.state === 'unknown') await requireKnownAgent(connected, of, flags);
    return found;
  });
  if (status.state === 'finished') return printFinished(status, flags);
  process.exitCode = status.state === 'unknown' ? exitCodes.failed : exitCodes.retryable;
  if (flags.json) return printJson(status);
  if (status.state === 'awaiting_approval') printLines(awaiting(status.approval));
  else printLines(status.state === 'held' ? held(status.hold) : words[status.state]);
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
