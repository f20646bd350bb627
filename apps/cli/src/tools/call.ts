import { newMessageId } from '@signalbox/client';
import { replyError, sendOrchestratorRequest } from '@signalbox/operator';
import { type CallRequest, isJsonObject, messageOf, parseJson, SignalboxError } from '@signalbox/protocol';
import { withSession } from '../connection/client-session.ts';
import { orchestratorOf, type ToolsFlags } from '../connection/orchestrator-request.ts';
import { textArgument } from '../messages/text-argument.ts';
import { withdrawOnSignal } from '../process/stop-signals.ts';
import { exitCodes } from '../terminal/exit-codes.ts';
import { printJson } from '../terminal/output.ts';
import { shellWords } from '../terminal/shell-words.ts';
import { printResult } from './print-result.ts';
import { checkToolName } from './tool-name.ts';

/** The options of `signalbox tools call`. */
export interface ToolsCallFlags extends ToolsFlags {
  /** The longest time for the call, in milliseconds. */
  timeout: number;
}

/**
 * Calls one tool and prints its result. A tool that reports a failure of its own ends the command with 1. A failure
 * carries the id of the request and the command that asks what became of it.
 */
export async function callTool(name: string, text: string, flags: ToolsCallFlags): Promise<void> {
  checkToolName(name);
  const request: CallRequest = {
    op: 'call',
    tool: name,
    arguments: toolArguments(await textArgument(text)),
    options: { timeout_ms: flags.timeout },
  };
  const id = newMessageId();
  const { json, timeout: timeoutMs } = flags;
  const result = await withSession(flags, async (session) => {
    try {
      using withdrawal = withdrawOnSignal();
      const { signal } = withdrawal;
      const orchestrator = orchestratorOf(session, flags);
      const options = { id, timeoutMs, signal };
      const reply = await sendOrchestratorRequest(session.client, orchestrator, request, options);
      if ('result' in reply) return reply.result;
      throw replyError(reply);
    } catch (error) {
      throw error instanceof SignalboxError ? withRequestId(error, id, flags) : error;
    }
  });
  if (!json) return printResult(result, name);
  if (!result.success) process.exitCode = exitCodes.failed;
  printJson({ result });
}

function withRequestId(error: SignalboxError, id: string, flags: ToolsCallFlags): SignalboxError {
  const { url, tokenFile, agent, config, data, orchestrator } = flags;
  const named = { url, 'token-file': tokenFile, agent, config, data, orchestrator };
  const options = Object.entries(named).flatMap(([option, value]) =>
    value === undefined ? [] : [`--${option}`, value],
  );
  const askAgain = shellWords('signalbox', 'tools', 'result', id, ...options);
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

function toolArguments(text: string): Record<string, unknown> {
  const example = `write one JSON object in single quotes, as in '{"message":"hello"}'`;
  let value: unknown;
  try {
    value = parseJson(text);
  } catch (cause) {
    const message = `the arguments cannot be read: ${messageOf(cause)}`;
    throw new SignalboxError('usage', message, { cause, details: { hint: example } });
  }
  if (isJsonObject(value)) return value;
  throw new SignalboxError('usage', 'the arguments must be a JSON object', { details: { hint: example } });
}
