import { setTimeout as delay } from 'node:timers/promises';
import { type CancelSignal, requestAddress } from '@signalbox/client';
import {
  bodyLimitsFor,
  type CallRecord,
  type CallStatus,
  callStatusSchema,
  callsReplySchema,
  isInputRequired,
  type McpReply,
  mcpReplySchema,
  parseJson,
  SignalboxError,
  type WelcomeFrame,
  withDataAsText,
} from '@signalbox/protocol';
import { abortSignalOf } from '@signalbox/protocol/internal';
import { late, within } from '@signalbox/serving';
import type { CallResult } from '../executor/call-result.ts';
import type { McpProxyExecutor } from '../executor/mcp-proxy-executor.ts';
import { askOrchestrator, unreadableAnswer } from '../executor/orchestrator-question.ts';
import { consumerOfKey } from '../shim/call-key.ts';
import type { CallsUnderWay } from '../tools/calls-under-way.ts';
import { failedResultOf, type ToolResult } from '../tools/tool-result.ts';
import { failure, failureResult } from './failure.ts';
import { answer, type MailboxTool, mailboxTool, readOnly } from './mailbox-tool.ts';

const askTimeoutMs = 10_000;
const listed = 20;

export interface CallResultToolDeps {
  executor: McpProxyExecutor;
  calls: CallsUnderWay;
  /** The longest wait of one call, in milliseconds. */
  maxWaitMs: number;
  /** The pause between two questions about a call that does not run in this process, in milliseconds. */
  askAgainMs: number;
  /** Monotonic milliseconds. */
  now: () => number;
}

/** Makes the tool that reports the end of a tool call whose caller stopped waiting, or whose connection broke. */
export function callResultTool(deps: CallResultToolDeps): MailboxTool {
  const { executor, maxWaitMs } = deps;
  const seconds = Math.max(1, Math.floor(maxWaitMs / 1000));
  return mailboxTool({
    name: 'signalbox_call_result',
    title: 'Look a tool call up',
    description: `What became of a call of one of your tools (not of the signalbox_ ones) after you stopped waiting for it, or after a failure that may have had an effect. Without call_id it lists your newest calls, also those that an earlier process of yours made. With call_id (a failed result has it in _meta "signalbox/call_id") it returns that call's own result; while it runs it waits at most ${seconds} s and then returns status pending.`,
    fields: {
      call_id: { type: 'string', description: 'Leave it out for the list.', minLength: 1, maxLength: 64 },
    },
    annotations: readOnly,
    async run({ call_id: id }, { signal }) {
      if (id === undefined) return await listOf(executor, signal);
      if (!/^[!-~]+$/.test(id))
        throw new SignalboxError(
          'invalid_arguments',
          `'${id}' is not the id of a call; leave call_id out for a list of them`,
        );
      return await resultOf(deps, id, signal);
    },
  });
}

async function listOf(executor: McpProxyExecutor, signal: CancelSignal): Promise<ToolResult> {
  const body = { op: 'own_calls', limit: listed };
  const answered = await askOrchestrator(executor, body, { timeoutMs: askTimeoutMs, signal });
  if (answered.error) return failedResultOf(answered.error, undefined);
  const read = callsReplySchema.safeParse(answered.result);
  if (!read.success) return failedResultOf(unreadableAnswer('no list of calls'), undefined);
  const data = read.data.calls.map(shownCall);
  const text =
    data.length === 0 ? 'The orchestrator knows no tool call of yours.' : data.map(lineOf).join('\n');
  return answer(text, { calls: data });
}

function shownCall({ request_id, tool, state, outcome, reply_kept, ...times }: CallRecord) {
  return {
    call_id: request_id,
    tool,
    state,
    ...(outcome !== undefined && { outcome }),
    started_at: new Date(times.started_at ?? times.received_at).toISOString(),
    ...(times.finished_at !== undefined && { finished_at: new Date(times.finished_at).toISOString() }),
    ...(reply_kept !== undefined && { result_kept: reply_kept }),
  };
}

function lineOf({
  call_id,
  tool,
  state,
  outcome,
  started_at,
  result_kept,
}: ReturnType<typeof shownCall>): string {
  const ended =
    outcome !== undefined && `ended (${outcome}), result ${result_kept ? 'kept' : 'no longer kept'}`;
  return `${call_id}  ${tool}  ${ended || state}  started ${started_at}`;
}

async function resultOf(
  { executor, calls, maxWaitMs, askAgainMs, now }: CallResultToolDeps,
  id: string,
  signal: CancelSignal,
): Promise<ToolResult> {
  const deadline = now() + maxWaitMs;
  const known = calls.find(id);
  if (known) {
    const ended = await within(known.result, maxWaitMs, signal);
    if (ended === late) return pending(id, known.tool, known.approval());
    if (ended.result && !isInputRequired(ended.result)) return ended.result;
  }
  for (;;) {
    const { result: status, error } = await requestCallStatus(executor, id, signal);
    if (error) return failedResultOf(error, undefined);
    if (status.state === 'finished') {
      return finished(id, { ...status, reply: status.reply ?? (await waitingReply(executor, id)) });
    }
    if (status.state === 'unknown') {
      const reply = await waitingReply(executor, id);
      return reply ? finished(id, { state: 'finished', outcome: 'unknown', reply }) : unknown(id);
    }
    const left = deadline - now();
    const approval = status.state === 'awaiting_approval' ? status.approval : undefined;
    if (left <= 0 || signal.aborted) return pending(id, known?.tool, approval);
    await delay(Math.min(askAgainMs, left), undefined, { signal: abortSignalOf(signal) }).catch(() => {});
  }
}

/** Asks the orchestrator for the state of one of the agent's own calls. Every failure is a return value. */
async function requestCallStatus(
  executor: McpProxyExecutor,
  callId: string,
  signal: CancelSignal,
): Promise<CallResult<CallStatus>> {
  const body = { op: 'status', request_id: callId };
  const answer = await askOrchestrator(executor, body, { timeoutMs: askTimeoutMs, signal });
  if (answer.error) return answer;
  const read = callStatusSchema.safeParse(answer.result);
  // The reply inside is a tool's own result, which is passed on unchanged.
  if (read.success) return { result: answer.result as CallStatus };
  return { error: unreadableAnswer('no status of a call') };
}

function finished(id: string, { outcome, reply }: CallStatus & { state: 'finished' }): ToolResult {
  if (reply && 'result' in reply) return withDataAsText(reply.result);
  if (reply && 'error' in reply) return failedResultOf(reply.error, undefined, id);
  if (reply && 'input_required' in reply) {
    const asked =
      'the tool asked its caller for input, which ended this round; call it again with the answers';
    return failureResult(failure('input_required', asked, { mayHaveRun: true }), {});
  }
  const message = `the call ended (${outcome}), and its result is no longer kept`;
  return failureResult(failure('result_forgotten', message, { mayHaveRun: true }), {});
}

function pending(id: string, tool: string | undefined, approval: string | undefined): ToolResult {
  const state =
    approval === undefined ? 'has not ended yet' : `still waits for a person (approval ${approval})`;
  const text = `${tool ?? 'The call'} ${state}. Ask again with call_id ${id}.`;
  return answer(text, { status: 'pending', call_id: id, ...(approval !== undefined && { approval }) });
}

function unknown(id: string): ToolResult {
  const message = `the orchestrator knows no call of yours with the id '${id}': it never came there, or is forgotten by now`;
  const hint = 'Without call_id this tool lists your newest calls.';
  return failureResult(failure('unknown_call', message, { mayHaveRun: true, hint }), {});
}

/** The most pages of an inbox that are read. */
const maxPages = 20;

/**
 * Looks for the reply to a call in the inbox of the shim that made it, which may have died before it read the reply. The broker keeps the
 * messages of that inbox for some minutes after its last holder left. Only shims name their inboxes in the ids of their calls. Rejects with
 * `SignalboxError` if the broker cannot be asked.
 */
async function waitingReply(
  { client, agent, orchestrator }: Pick<McpProxyExecutor, 'client' | 'agent' | 'orchestrator'>,
  callId: string,
): Promise<McpReply | undefined> {
  const consumer = consumerOfKey(callId);
  if (consumer === undefined) return undefined;
  const address = requestAddress(agent, consumer);
  let after = 0;
  for (let page = 0; page < maxPages; page++) {
    const messages = await client.peek({ address, after });
    const reply = messages.find(
      ({ kind, correlation_id, from }) =>
        kind === 'mcp_reply' &&
        correlation_id === callId &&
        from.agent === orchestrator &&
        from.role === 'orchestrator',
    );
    if (reply) return readReply(reply.body, client.welcome);
    const last = messages.at(-1)?.seq;
    if (last === undefined) return undefined;
    after = last;
  }
  return undefined;
}

/** Returns the reply unchanged, with fields that the schema does not know. */
function readReply(body: string | undefined, { limits }: WelcomeFrame): McpReply | undefined {
  const json = body === undefined ? undefined : parseJson(body, bodyLimitsFor(limits.message?.bytes));
  return mcpReplySchema.safeParse(json).success ? (json as McpReply) : undefined;
}
