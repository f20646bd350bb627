import { newMessageId } from '@signalbox/client';
import {
  askDeadlineOf,
  isInputRequired,
  type ServerInstructions,
  type Tool,
  type ToolCallError,
} from '@signalbox/protocol';
import { Cancellation, quotedLines, visibleLine } from '@signalbox/protocol/internal';
import type { RoundResult } from '../executor/call-result.ts';
import type { McpProxyExecutor } from '../executor/mcp-proxy-executor.ts';
import type { ExecuteOptions } from '../executor/tool-call.ts';
import type { TaskFields } from '../tasks/task-fields.ts';
import { TaskWait } from '../tasks/task-wait.ts';
import type { CallsUnderWay } from './calls-under-way.ts';
import { patienceMs } from './client-patience.ts';
import { clientGone, type FaceAnswer, type FaceCall, type FaceTools } from './face-tools.ts';
import { invalidParams, JsonRpcError } from './json-rpc-error.ts';
import type { SeenLinks } from './seen-links.ts';
import { failedResultOf, pendingResultOf } from './tool-result.ts';

/** The pause before the orchestrator is asked once more to keep a call that waits for a person, in milliseconds. */
const keepAgainMs = 1_000;

/** Settings of calls of hosted tools. */
export interface HostedToolsOptions {
  /** Records the running calls. */
  calls?: CallsUnderWay | undefined;
  /** Remembers the resources that results name. */
  links?: SeenLinks | undefined;
  /** Returns true if the agent can look its calls up with `signalbox_call_result`. */
  canLookUp?: (() => boolean) | undefined;
  /** The time after which a call that waits for a person's decision returns; by default that of its client (`patienceMs`). */
  pendingAfterMs?: number | undefined;
  /**
   * The time after which a call becomes a task, if its client takes tasks; default 45 s. One that waits for a person becomes one at once.
   */
  taskAfterMs?: number | undefined;
}

/** The tools that the orchestrator hosts and the role may see. It accepts every name; an unknown tool is an error. */
export function hostedTools(executor: McpProxyExecutor, options: HostedToolsOptions = {}): FaceTools {
  const callOptions = { ...options, onUnknown: refuse };
  return {
    list: () => executor.listTools(),
    call: (call) => callHosted(executor, call, callOptions),
    onChanged: (listener) => executor.onManifestChanged(listener),
    instructions: () => [
      `The tools of MCP servers are shared by a fleet of agents; you are '${executor.agent}' and see those that the role '${executor.role}' may use.`,
      'A tool that is named mcp_SERVER__TOOL belongs to the MCP server SERVER. The list can change while you work.',
      'When a call fails (isError), the text says why and what to do; structuredContent.error holds the same as data: code, retryable, may_have_run and sometimes retry_after_seconds.',
      'A call may have to wait for the decision of a person. If that takes long, its result says status pending: this is no failure, and the call goes on.',
      'Repeat a failed call only if retryable is true. If may_have_run is true, first find out whether the call took effect.',
      ...instructionLines(executor.mcpContent.instructions),
    ],
  };
}

/** Quotes the servers' instructions, each under the server's name. */
function instructionLines(instructions: readonly ServerInstructions[]): string[] {
  return instructions.flatMap(({ server, text }) => [
    `The MCP server '${visibleLine(server)}' says of itself:`,
    ...quotedLines(text),
  ]);
}

export interface HostedCallOptions extends HostedToolsOptions {
  /** Called if the role may call no tool of this name. The call rejects with the error that this throws; otherwise the result reports it. */
  onUnknown?: (unknown: ToolCallError) => void;
}

/** Calls a hosted tool. Rejects with `JsonRpcError` if the MCP server itself answered with a JSON-RPC error. */
export async function callHosted(
  executor: McpProxyExecutor,
  call: FaceCall,
  options: HostedCallOptions,
): Promise<FaceAnswer> {
  const { links, onUnknown, canLookUp = () => false } = options;
  const tool = executor.findTool(call.name);
  const requestId = call.key?.id ?? newMessageId();
  const ended = await endOfWait(executor, { call, tool, requestId }, options);
  if ('task' in ended) return { result: { resultType: 'task', ...ended.task } };
  if ('approval' in ended)
    return {
      result: pendingResultOf(call.name, requestId, ended.approval, { tool, canLookUp: canLookUp() }),
      outputSchema: (tool ?? executor.findTool(call.name))?.outputSchema,
    };
  if (!tool && isUnknown(ended.error)) onUnknown?.(ended.error);
  return answerOf(executor, { name: call.name, requestId, links, tool }, ended);
}

/** The end of the wait for a call: its result, the approval for which it waits too long, or the task that it has become. */
type EndOfWait = RoundResult | { approval: string } | { task: TaskFields };

/**
 * Makes one round of a call, and resolves when its client need not wait any longer. Rejects when the client hangs up.
 *
 * The client's abort cancels the call, unless the call is a task, as the client was told. If the client hangs up, only a call that waits
 * for a person is cancelled, or that begins to do so later. A cancelled call never runs on a decision, and people can still make that
 * decision for the next call.
 */
function endOfWait(
  executor: McpProxyExecutor,
  { call, tool, requestId }: { call: FaceCall; tool: Tool | undefined; requestId: string },
  { calls, pendingAfterMs = patienceMs(call.client), taskAfterMs }: HostedToolsOptions,
): Promise<EndOfWait> {
  return new Promise((resolve, reject) => {
    const { signal, onProgress, logLevel, onLogMessage, key, traceparent, meta, mayBeTask } = call;
    const stopWaiting = (): void => {
      decision?.[Symbol.dispose]();
      kept?.[Symbol.dispose]();
      wait?.[Symbol.dispose]();
    };
    const end = (how: EndOfWait): void => {
      stopWaiting();
      resolve(how);
    };
    const fail = (thrown: unknown): void => {
      stopWaiting();
      reject(thrown);
    };
    let kept: TaskWait | undefined;
    // A client that is told that the call goes on without it relies on that, also after the death of this process.
    const keep = (): void => {
      kept ??= new TaskWait(executor, requestId, 0, keepAgainMs);
      kept.began.then(() => decision?.approval !== undefined && end({ approval: decision.approval }), fail);
    };
    const decision = mayWaitForDecision(tool) ? new AwaitedDecision(pendingAfterMs, keep) : undefined;
    const wait = mayBeTask ? new TaskWait(executor, requestId, taskAfterMs) : undefined;
    wait?.began.then(end, fail);
    const cancellation = new Cancellation();
    let hasHungUp = false;
    const onAbort = (): void => {
      hasHungUp = signal.reason === clientGone;
      if (hasHungUp) fail(new Error('the client has hung up'));
      if (!hasHungUp || decision?.approval !== undefined) cancel();
    };
    const cancel = (): void => {
      // Another process makes a call with a key again, and waits for it.
      if (wait?.isTask !== true && !(hasHungUp && key)) cancellation.abort(signal.reason);
    };
    if (signal.aborted) onAbort();
    else signal.addEventListener('abort', onAbort, { once: true });
    const execute: ExecuteOptions = {
      requestId,
      isFirst: key === undefined || key.isFirst,
      signal: cancellation,
      onProgress,
      logLevel,
      onLogMessage,
      traceparent,
      meta,
      mayBeTask,
    };
    if (decision)
      execute.onAwaitingApproval = (approval) => {
        if (hasHungUp) {
          // The call began to wait before its client hung up, or after that.
          if (approval !== undefined) cancel();
          return;
        }
        decision.awaits(approval);
        if (approval !== undefined) wait?.hurry();
        call.onAwaitingApproval?.(approval);
      };
    if (key) {
      execute.mayBeRepeated = key.over;
      execute.epoch = key.epoch;
    }
    const result = executor.executeRound(call, call.round, execute);
    const underWay = { tool: call.name, result, approval: () => decision?.approval };
    calls?.add(requestId, underWay);
    result.then(
      (ended) => {
        calls?.remove(requestId, underWay);
        end(ended);
      },
      (thrown) => {
        calls?.remove(requestId, underWay);
        fail(thrown);
      },
    );
  });
}

/** Returns false if no call of a tool waits for the decision of a person. */
function mayWaitForDecision(tool: Tool | undefined): boolean {
  return tool === undefined || askDeadlineOf(tool) !== undefined;
}

/** Returns the answer to a call that has ended. Throws `JsonRpcError` if the MCP server itself answered with a JSON-RPC error. */
export function answerOf(
  executor: McpProxyExecutor,
  call: { name: string; requestId: string; links: SeenLinks | undefined; tool?: Tool | undefined },
  { result, error }: RoundResult,
): FaceAnswer {
  const { name, requestId, links, tool = executor.findTool(name) } = call;
  if (error?.rpc_error) {
    const { code, message, data } = error.rpc_error;
    throw new JsonRpcError(code, message, data);
  }
  const outputSchema = tool?.outputSchema;
  if (error) return { result: failedResultOf(error, tool, requestId), outputSchema };
  if (!isInputRequired(result)) links?.note(name, result.content);
  return { result, outputSchema };
}

function isUnknown(error: ToolCallError | undefined): error is ToolCallError {
  const { code, may_have_run: mayHaveRun } = error ?? {};
  return mayHaveRun === false && (code === 'tool_not_found' || code === 'permission_denied');
}

function refuse({ message, hint }: ToolCallError): never {
  throw new JsonRpcError(invalidParams, [message, hint].join('. '));
}

/** Determines when a call has waited so long for a person's decision that its client is told. */
class AwaitedDecision implements Disposable {
  /** The approval for which the call waits now. */
  approval: string | undefined;
  readonly #onTookLong: () => void;
  readonly #until: number;
  #timer: NodeJS.Timeout | undefined;

  /**
   * Starts the time for which the client waits, in milliseconds. `onTookLong` is called when the call has run for that time and waits for
   * a decision.
   */
  constructor(patienceMs: number, onTookLong: () => void) {
    this.#onTookLong = onTookLong;
    this.#until = performance.now() + patienceMs;
  }

  /** Records that the call begins to wait for an approval, or continues if `approval` is `undefined`. */
  awaits(approval: string | undefined): void {
    clearTimeout(this.#timer);
    this.approval = approval;
    if (approval === undefined) return;
    const leftMs = Math.max(0, this.#until - performance.now());
    this.#timer = setTimeout(this.#onTookLong, leftMs);
  }

  [Symbol.dispose](): void {
    clearTimeout(this.#timer);
  }
}
