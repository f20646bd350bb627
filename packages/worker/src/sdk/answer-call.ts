import { setImmediate as nextTurn } from 'node:timers/promises';
import type { CallToolResult, ProgressToken, RequestId, Server } from '@modelcontextprotocol/server';
import type { CancelSignal } from '@signalbox/client';
import {
  type CallRound,
  isInputRequired,
  isJsonObject,
  type McpLogLevel,
  type McpLogMessage,
  type RequestMeta,
} from '@signalbox/protocol';
import type { FaceTasks } from '../tasks/hosted-tasks.ts';
import type { AgentStatus } from '../tools/agent-status.ts';
import { startCallProgress } from '../tools/call-progress.ts';
import type { FaceMcpContent } from '../tools/face-mcp-content.ts';
import { type CallKey, endsCall, type FaceAnswer, type FaceTools } from '../tools/face-tools.ts';
import { invalidParams, JsonRpcError } from '../tools/json-rpc-error.ts';
import type { ReadPages } from '../tools/read-pages.ts';
import { type AskClient, askLegacyClient } from './legacy-input.ts';
import type { RunningCalls, StartedCall } from './running-calls.ts';
import { declaresTasks } from './task-requests.ts';
import { type FaceTrace, type PassedOn, runTraced } from './traced-call.ts';

/** The longest silence by default, in milliseconds. Clients commonly give up after 60 s without a notification. */
const defaultHeartbeatMs = 15_000;

/** The tools, prompts and resources of an agent, and the status that counts its calls. */
export type AgentFaceTools = FaceTools & {
  readonly status: AgentStatus;
  readonly mcpContent: FaceMcpContent;
  readonly pages: Pick<ReadPages, 'hasAny' | 'toolOf'>;
  readonly tasks: FaceTasks;
};

/** The log messages that a client of the revisions up to 2025-11-25 wants. */
export interface WantedLogs {
  /** The least level that the client has set, which it may do at any time; `undefined` if it has set none. */
  level: McpLogLevel | undefined;
}

export interface AnswerDeps {
  tools: AgentFaceTools;
  /** Makes the spans of the calls; without it there are none. */
  trace: FaceTrace | undefined;
  running: RunningCalls;
  /** Names the session of the client, if its connection carries several. */
  session?: string | undefined;
  /** Set for a session with a client of the revisions up to 2025-11-25. */
  logs?: WantedLogs | undefined;
  /** The longest silence in milliseconds while a call runs whose client asked for progress; default 15 s. */
  heartbeatMs?: number | undefined;
  /** The longest wait for a client's answer to a question, in milliseconds; default 4 min. */
  answerMs?: number | undefined;
  /** Returns the key of the call with which a client's request began, if its connection gives calls keys. */
  keyOf?: ((id: RequestId) => CallKey | undefined) | undefined;
}

/** The rules for results that depend on the client's revision. */
export type ResultRules = Pick<Server, 'projectCallToolResult' | 'getClientCapabilities'>;

/** A `tools/call` of a client, over any transport. */
export interface ClientCall {
  id: RequestId;
  name: unknown;
  arguments: unknown;
  /** The name that the client gives itself, if it gives one. */
  client: string | undefined;
  /** The `_meta` of the request. */
  meta: RequestMeta | undefined;
  progressToken: ProgressToken | undefined;
  signal: CancelSignal;
  /** The kinds of input that the client can be asked for, and its answers in a further round. */
  round: CallRound;
  /** See `FaceCall.key`. */
  key: CallKey | undefined;
  /** True if the client's revision has results that ask for input. */
  isModern: boolean;
  /** The least level of the log messages that the client has asked for. One of the current revision wants none unless it asks. */
  logLevel: McpLogLevel | undefined;
  /** Passes a log message of the server on to the client; never rejects. */
  notifyLog(message: McpLogMessage): void;
  /** Tells the client of progress; never rejects. */
  notify(params: { progressToken: ProgressToken; progress: number }): void;
  ask: AskClient;
}

/**
 * Starts a call. Its answer is the result, ready to be sent; it rejects with `JsonRpcError` if MCP requires an error instead.
 */
export function startCall(
  server: ResultRules,
  deps: AnswerDeps,
  callWith: (signal: CancelSignal) => ClientCall,
): StartedCall<Record<string, unknown>> {
  return deps.running.start((signal) => {
    const call = callWith(signal);
    return runTraced(deps.trace, call, (passedOn) => answerCall(server, deps, call, passedOn));
  });
}

/**
 * Cancels the running calls and resolves when their answers were handed to the transport. The SDK does that in the turn of the event loop
 * in which a handler ends, but does not report it. Checked with SDK 2.4.0.
 */
export async function cancelCalls(running: RunningCalls): Promise<void> {
  running.cancelAll();
  await running.settled();
  await nextTurn();
}

async function answerCall(
  server: ResultRules,
  { tools, session, heartbeatMs = defaultHeartbeatMs, answerMs }: AnswerDeps,
  call: ClientCall,
  { traceparent, meta }: PassedOn,
): Promise<Record<string, unknown>> {
  const { signal, progressToken } = call;
  if (typeof call.name !== 'string')
    throw new JsonRpcError(invalidParams, 'tools/call needs the name of a tool');
  const { pages } = tools;
  const name = pages.hasAny ? await pages.toolOf(call.name, { meta: call.meta, signal }) : call.name;
  const ended = tools.status.callStarted(name);
  const progress =
    progressToken !== undefined &&
    startCallProgress(heartbeatMs, (sent) => call.notify({ progressToken, ...sent }));
  const args = call.client?.startsWith(geminiCli) ? withoutGeminis(call, tools) : call.arguments;
  let rounds = 0;
  const again = (round: CallRound, ownSignal = signal): Promise<FaceAnswer> => {
    const answer = tools.call({
      name,
      arguments: args,
      signal: ownSignal,
      round,
      traceparent,
      meta,
      session,
      client: call.client,
      key: roundKey(call.key, rounds++),
      mayBeTask: call.isModern && declaresTasks(round.clientCapabilities),
      onProgress: progress ? progress.report : undefined,
      logLevel: call.logLevel,
      onLogMessage: call.isModern && !call.logLevel ? undefined : call.notifyLog,
      onAwaitingApproval: progress ? progress.awaits : undefined,
    });
    if (!answer) throw new JsonRpcError(invalidParams, `there is no tool '${name}'`);
    return answer;
  };
  try {
    let answer = await again(call.round);
    if (isInputRequired(answer.result) && !call.isModern) {
      const capabilities = server.getClientCapabilities();
      answer = await askLegacyClient({ ask: call.ask, signal, capabilities, answerMs, again }, answer);
    }
    const { result, outputSchema } = answer;
    if (!endsCall(result)) return result;
    return server.projectCallToolResult(result as CallToolResult, outputSchema);
  } finally {
    if (progress) await progress.end();
    ended();
  }
}

/** The name of Gemini CLI, which may be followed by that of our entry in its settings. */
const geminiCli = 'gemini-cli-mcp-client';

/**
 * Leaves out the parameter that Gemini CLI adds to each tool's schema for its own use, and sends along, unless the tool has a parameter of
 * that name itself.
 */
function withoutGeminis({ name, arguments: given }: ClientCall, tools: FaceTools): unknown {
  if (!isJsonObject(given) || !Object.hasOwn(given, 'wait_for_previous')) return given;
  const tool = tools.list().find((one) => one.name === name);
  if (!tool || JSON.stringify(tool.inputSchema).includes('"wait_for_previous"')) return given;
  const { wait_for_previous: _geminis, ...args } = given;
  return args;
}

/** Returns the key of one round of a call. Each round is a message of its own. */
function roundKey(key: CallKey | undefined, round: number): CallKey | undefined {
  return key === undefined || round === 0 ? key : { ...key, id: `${key.id}.${round}` };
}
