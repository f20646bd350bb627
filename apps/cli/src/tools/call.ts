import { setTimeout } from 'node:timers/promises';
import { type BrokerClient, newMessageId } from '@signalbox/client';
import { queryOrchestrator, readManifest } from '@signalbox/client/operator';
import { maxOwnCalls, replyError, sendOrchestratorRequest } from '@signalbox/client/operator/internal';
import {
  askDeadlineOf,
  type CallRequest,
  isJsonObject,
  type McpReply,
  SignalboxError,
  type Tool,
  toProxiedResult,
  withDataAsText,
} from '@signalbox/protocol';
import { untilText } from '@signalbox/protocol/duration';
import { type ConnectedClient, requireLifetime, withClient } from '../connection/connected-client.ts';
import { sameConnection } from '../connection/connection.ts';
import { orchestratorOf, type ToolsFlags } from '../connection/orchestrator-request.ts';
import { textArgument } from '../messages/text-argument.ts';
import { recipientText } from '../messages/why-waiting.ts';
import { withdrawOnSignal } from '../process/stop-signals.ts';
import { exitCodes } from '../terminal/exit-codes.ts';
import { printJson, printNotes } from '../terminal/output.ts';
import { shellWords } from '../terminal/shell-words.ts';
import { printResult } from './print-result.ts';
import { toolArguments } from './tool-arguments.ts';
import { checkToolName, labelledError, toolNamed } from './tool-name.ts';

/** The time for a call, besides a wait for a person, if nobody sets another one, in milliseconds. */
const defaultTimeoutMs = 60_000;

/** The longest wait for the list of tools, in milliseconds. */
const longestLookMs = 5000;

/** The longest wait for what is known of the call while it waits, in milliseconds. */
const noteLookMs = 1000;

/** The longest wait for what became of a withdrawn call, in milliseconds. */
const longestOutcomeMs = 2000;
/** The pause between two questions for it, in milliseconds. */
const pauseMs = 50;

/** The options of `signalbox tools call`. */
export interface ToolsCallFlags extends ToolsFlags {
  /** The longest time for the call with all its waits, in milliseconds. */
  timeout?: number;
}

/**
 * Calls one tool and prints its result. A tool that reports a failure of its own ends the command with 1. A failure
 * carries the id of the request and the command that asks what became of it.
 */
export async function callTool(name: string, text: string, flags: ToolsCallFlags): Promise<void> {
  checkToolName(name);
  const { json, timeout } = flags;
  const timeoutMs = timeout ?? defaultTimeoutMs;
  const args = toolArguments(await textArgument(text));
  const id = newMessageId();
  const result = await withClient(flags, async (connected) => {
    requireLifetime(connected.client, '--timeout', timeout);
    try {
      using withdrawal = withdrawOnSignal();
      const { signal } = withdrawal;
      const orchestrator = await orchestratorOf(connected, flags);
      const tools = await listedTools(connected.client, orchestrator, Math.min(longestLookMs, timeoutMs));
      const tool = toolNamed(
        name,
        tools.map((one) => one.name),
      );
      const asked = tools.find((one) => one.name === tool);
      const askMs = (timeout === undefined && asked && askDeadlineOf(asked)) || 0;
      const request: CallRequest = { op: 'call', tool, arguments: args, options: { timeout_ms: timeoutMs } };
      const longestMs = timeoutMs + askMs;
      const end = untilText(longestMs, Date.now());
      connected.waits.for(
        async () => `${await waitingFor(connected, orchestrator, id)}, ${end} at the latest`,
      );
      const options = { id, timeoutMs: longestMs, signal, onProgress: tellWaiting };
      const reply = await sendOrchestratorRequest(connected.client, orchestrator, request, options);
      if ('result' in reply) return withDataAsText(reply.result);
      // JSON keeps the names on the wire.
      throw json ? replyError(reply) : labelledError(replyError(reply));
    } catch (error) {
      if (!(error instanceof SignalboxError)) throw error;
      const ended = timeout === undefined ? error : withTimeoutHint(error);
      throw withRequestId(await withOutcome(ended, id, connected, flags), id, flags);
    }
  });
  if (!json) return printResult(result, name);
  if (result.isError === true) process.exitCode = exitCodes.failed;
  printJson({ result: toProxiedResult(result) });
}

/** Says what the call waits for, as the orchestrator knows it. */
async function waitingFor(connected: ConnectedClient, orchestrator: string, id: string): Promise<string> {
  const look = { timeoutMs: noteLookMs };
  const query = { op: 'own_calls' as const, running: true, limit: maxOwnCalls };
  const answer = await queryOrchestrator(connected.client, orchestrator, query, look).catch(() => undefined);
  if (!answer) return await recipientText(connected, orchestrator, 'to answer');
  const call = answer.calls.find(({ request_id }) => request_id === id);
  const on = call?.server === undefined ? 'its server' : `server ${call.server}`;
  switch (call?.state) {
    case 'held':
      return `a release: ${call.hold}`;
    case 'awaiting_approval':
      return `approval ${call.approval} (signalbox approvals)`;
    case 'queued':
      return call.position === undefined ? 'its turn' : `its turn on ${on}, place ${call.position}`;
    case 'running': {
      const { not_ready = [] } = await readManifest(connected.client, orchestrator, look);
      const missing = not_ready.find(({ server }) => server === call.server);
      const why = missing && (missing.reason ?? `it is ${missing.state}`);
      return why === undefined ? `${on} to end the call` : `${on}: ${why}`;
    }
    default:
      return `${orchestrator} to take the call`;
  }
}

/** Lists the tools that the role may use: they have the names, and say whether calls wait for a person. */
async function listedTools(
  client: BrokerClient,
  orchestrator: string,
  timeoutMs: number,
): Promise<readonly Tool[]> {
  try {
    const { tools = [] } = await readManifest(client, orchestrator, { timeoutMs });
    return tools;
  } catch {
    // The call itself says what is wrong.
    return [];
  }
}

function tellWaiting(progress: unknown): void {
  if (!isJsonObject(progress) || !isJsonObject(progress.awaiting_approval)) return;
  const { id } = progress.awaiting_approval;
  printNotes(
    `signalbox: the call waits for a person: signalbox approve ${id}, or signalbox deny ${id} --reason …`,
  );
}

/** Returns the error of a call on which nobody decided within `--timeout`, with what to do. Any other error is returned as it is. */
function withTimeoutHint(error: SignalboxError): SignalboxError {
  if (error.code !== 'approval_expired') return error;
  const hint =
    'The call was not made, and nobody can decide on it any more. --timeout bounds the wait for a person, too: give it longer, or leave it out.';
  return new SignalboxError(error.code, error.message, {
    retryable: error.retryable,
    cause: error,
    details: { ...error.details, hint },
  });
}

/**
 * Returns the error of a call that this process has withdrawn. It says so if the tool has not run, so that nobody looks
 * for effects that can't exist. Any other error is returned as it is.
 */
async function withOutcome(
  error: SignalboxError,
  id: string,
  connected: ConnectedClient,
  flags: ToolsCallFlags,
): Promise<SignalboxError> {
  if (error.details.interrupted !== true) return error;
  const reply = await endOfWithdrawn(connected.client, await orchestratorOf(connected, flags), id).catch(
    () => undefined,
  );
  if (reply === undefined || !('error' in reply) || reply.error.may_have_run) return error;
  // The hint says to look for its effects.
  const { hint: _, ...details } = error.details;
  return new SignalboxError(error.code, 'interrupted; the call is withdrawn, and its tool has not run', {
    details: { ...details, may_have_run: false },
  });
}

/** Returns the reply that a withdrawn call ended with, or nothing if the orchestrator has not ended it within {@link longestOutcomeMs}. */
async function endOfWithdrawn(
  client: BrokerClient,
  orchestrator: string,
  id: string,
): Promise<McpReply | undefined> {
  const question = { op: 'status' as const, request_id: id };
  const deadline = performance.now() + longestOutcomeMs;
  for (let left = longestOutcomeMs; left > 0; left = deadline - performance.now()) {
    const status = await queryOrchestrator(client, orchestrator, question, { timeoutMs: left });
    if (status.state === 'finished') return status.reply;
    await setTimeout(pauseMs);
  }
  return undefined;
}

function withRequestId(error: SignalboxError, id: string, flags: ToolsCallFlags): SignalboxError {
  const { orchestrator } = flags;
  const options = orchestrator === undefined ? [] : ['--orchestrator', orchestrator];
  const askAgain = shellWords('signalbox', 'tools', 'result', id, ...sameConnection(flags), ...options);
  return new SignalboxError(error.code, error.message, {
    retryable: error.retryable,
    cause: error,
    details: { ...error.details, request_id: id, ...(isOpen(error) && { ask_again: askAgain }) },
  });
}

/** Returns true if the end of the call may be known elsewhere or later. A call that was refused before it ran has ended. */
function isOpen({ code, details }: SignalboxError): boolean {
  return details.may_have_run !== false || code === 'tool_timeout';
}
