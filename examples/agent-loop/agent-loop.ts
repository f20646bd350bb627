import { setTimeout as wait } from 'node:timers/promises';
import type { Tool, ToolCallError } from '@signalbox/protocol';
import type { McpProxyExecutor } from '@signalbox/worker';

/** A call that the model wants to make. `id` connects the result with it. */
export interface WantedCall {
  id: string;
  name: string;
  arguments: Record<string, unknown>;
}

/** An entry of the conversation. Every model API has these three under some name. */
export type Turn =
  | { role: 'user'; text: string }
  | { role: 'assistant'; calls: WantedCall[] }
  | { role: 'tool'; callId: string; text: string; isError: boolean };

/** Asks a model once: the conversation and the tools (with JSON Schemas) go in, calls or the final text come out. */
export type Decide = (request: {
  turns: readonly Turn[];
  tools: readonly Tool[];
}) => Promise<{ calls: WantedCall[] } | { text: string }>;

/** The options of {@link runAgent}. */
export interface LoopOptions {
  /** Called with a line for people about each step. */
  say: (line: string) => void;
  /** Returns the longest time for a call of a tool, in milliseconds; by default 60,000. */
  timeoutMs?: (tool: string) => number;
  /** The number of times that the model is asked before the loop gives up; by default 20. */
  maxTurns?: number;
  /** The number of times that a call is made while its error is retryable; by default 5. */
  maxTries?: number;
  /** Aborting it ends the loop; running calls are cancelled, down to the MCP server. */
  signal?: AbortSignal;
}

/** Lets the model call tools until it has an answer. Throws when it has none after `maxTurns` turns (default 20). */
export async function runAgent(
  executor: McpProxyExecutor,
  decide: Decide,
  task: string,
  options: LoopOptions,
): Promise<string> {
  const { maxTurns = 20, signal } = options;
  const turns: Turn[] = [{ role: 'user', text: task }];
  for (let turn = 0; turn < maxTurns; turn++) {
    signal?.throwIfAborted();
    // The list is read anew each time: the tools that our role may use can change while we run.
    const decision = await decide({ turns, tools: executor.listTools() });
    if ('text' in decision) return decision.text;
    turns.push({ role: 'assistant', calls: decision.calls });
    // All calls run at once, over one connection; each gets its own result, in any order of their ends.
    turns.push(...(await Promise.all(decision.calls.map((call) => makeCall(executor, call, options)))));
  }
  throw new Error(`the model gave no answer in ${maxTurns} turns`);
}

/** Makes one call; every failure becomes a text that the model can read and act on. */
async function makeCall(executor: McpProxyExecutor, call: WantedCall, options: LoopOptions): Promise<Turn> {
  const { say, timeoutMs = () => 60_000, maxTries = 5, signal } = options;
  for (let tries = 1; ; tries++) {
    const { result, error } = await executor.execute(call, {
      timeoutMs: timeoutMs(call.name),
      ...(signal && { signal }),
    });
    if (result) {
      // `success: false` is the tool's own failure, told in its own words. Images and the like are in `result.content`.
      say(`  ${call.name} (${call.id}): ${result.success ? 'ok' : 'the tool failed'}`);
      return { role: 'tool', callId: call.id, text: result.text, isError: !result.success };
    }
    if (!error.retryable || tries >= maxTries) {
      say(
        `  ${call.name} (${call.id}): ${error.code}${error.may_have_run ? ', may have run' : ', has not run'}`,
      );
      return { role: 'tool', callId: call.id, text: tellModel(error), isError: true };
    }
    // `retryable` is set only if a repetition can do no harm, even if the first call may have run.
    const waitMs = (error.retry_after_seconds ?? tries) * 1000;
    say(`  ${call.name} (${call.id}): ${error.code}, again in ${waitMs} ms`);
    await wait(waitMs, undefined, { signal });
  }
}

/** Tells the model about the failure and the next step. Only the code decides: messages are for reading only. */
function tellModel(error: ToolCallError): string {
  const advice = adviceFor(error);
  return [`${error.code}: ${error.message}.`, error.hint, advice]
    .filter((part) => part !== undefined)
    .join(' ');
}

function adviceFor({ code, may_have_run }: ToolCallError): string {
  switch (code) {
    case 'outcome_unknown':
      return 'It may have taken effect. Never just call it again: look first, or ask a person.';
    case 'tool_not_found':
    case 'permission_denied':
      return 'Go on without this tool.';
    case 'invalid_arguments':
      return 'Correct the arguments by the schema of the tool, then call it again.';
    default:
      return may_have_run ? 'It may have had an effect.' : 'Nothing has run.';
  }
}
