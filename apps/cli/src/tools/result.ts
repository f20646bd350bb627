import { replyError } from '@signalbox/operator';
import { type CallStatus, SignalboxError, toolErrorCodes } from '@signalbox/protocol';
import { askOrchestrator, type ToolsFlags } from '../connection/orchestrator-request.ts';
import { exitCodeOf, exitCodes } from '../terminal/exit-codes.ts';
import { printJson, printLines } from '../terminal/output.ts';
import { printResult } from './print-result.ts';

/** Prints the state of one's own call, with its reply if it has ended. Exit code 75 says that it has not ended. */
export async function callResult(requestId: string, flags: ToolsFlags): Promise<void> {
  checkId(requestId);
  const status = await askOrchestrator(flags, { op: 'status', request_id: requestId });
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
    'unknown: the orchestrator knows no call of yours with this id; it never came there, or it is forgotten by now',
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
    throw replyError(reply);
  }
}

function exitCodeOfOutcome(outcome: Finished['outcome']): number {
  if (outcome === 'ok' || outcome === 'input_required') return exitCodes.ok;
  if (outcome === 'tool_error') return exitCodes.failed;
  return exitCodeOf({ code: outcome, retryable: toolErrorCodes[outcome].retryable });
}

function checkId(id: string): void {
  if (/^(re:)?[!-~]{1,64}$/.test(id)) return;
  throw new SignalboxError('usage', `'${id}' is not the id of a request`, {
    details: { hint: 'it stands in what a failed tools call says, and in signalbox tools calls' },
  });
}
