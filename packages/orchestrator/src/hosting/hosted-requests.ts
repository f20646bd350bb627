import { handBack, type Log, type ServeAnswer, type ServedRequest } from '@signalbox/client';
import { type McpHost, mcpToolName } from '@signalbox/mcp-host';
import {
  type CallRequest,
  type CancelSignal,
  forwardedMeta,
  fromWireRound,
  type Hosted,
  type HostedListReply,
  type HostedReply,
  type McpContentRequest,
  type McpReply,
  type McpRequest,
  type Sender,
  servesCalls,
  type ToolCallError,
  toolCallError,
} from '@signalbox/protocol';
import { boundedReply } from '../calls/bounded-reply.ts';
import type { CallScheduler } from '../scheduling/call-scheduler.ts';
import { queueRefusal } from '../scheduling/queue-refusal.ts';

/** The most bytes of the entries on a page, and of one entry more. */
const pageBytes = 256 * 1024;

/** The dependencies of the requests that an orchestrator passes on to one with a label. */
export interface HostedDeps {
  host: McpHost;
  scheduler: CallScheduler;
  end: OrderlyEnd;
  refusals: Refusals;
  callTimeoutMs: number;
  maxReplyBytes: () => number;
}

/**
 * Refuses a request that is not for this orchestrator. One with a label (`isHost`) makes calls for an orchestrator without one only, because
 * that one has the rules; any other makes no calls for orchestrators.
 */
export function refuseMisplaced(
  { role }: Pick<Sender, 'role'>,
  body: McpRequest,
  isHost: boolean,
): ToolCallError | undefined {
  const isPassedOn =
    body.op === 'hosted' || body.op === 'hosted_list' || ('hosted' in body && body.hosted !== undefined);
  const makesCall = ['call', 'request', 'ask_permission', 'update_task'].includes(body.op);
  const refuse = (message: string): ToolCallError =>
    toolCallError('permission_denied', message, { mayHaveRun: false });
  if (isPassedOn && !isHost) return refuse('this orchestrator has no label, and takes no calls from others');
  if (isPassedOn && !(servesCalls(role) && role === 'orchestrator'))
    return refuse(`only an orchestrator passes requests on, and your role is '${role}'`);
  if (isHost && makesCall && !isPassedOn)
    return refuse('this orchestrator has a label: its tools are called at the one without a label');
  return undefined;
}

/** The refusal of the calls that an orchestrator with a label has not begun when it ends, and that no other one would begin. */
export const refusedAtEnd: ToolCallError = toolCallError(
  'mcp_server_unreachable',
  'it is being stopped, and takes no calls',
  { mayHaveRun: false },
);

/** The end in order of an orchestrator with a label, of which those that pass calls on are told. */
export class OrderlyEnd {
  readonly #begun = Promise.withResolvers<void>();
  readonly #heard = Promise.withResolvers<void>();
  /** The addresses that wait to be told of the end, with their newest questions. */
  readonly #waiting = new Map<string, CancelSignal>();
  #ends: HostedReply['ends'];

  /** Set when the end has begun. */
  get ends(): HostedReply['ends'] {
    return this.#ends;
  }

  /** Resolves when the end begins, or the question is over. */
  async begun(address: string, question: CancelSignal): Promise<void> {
    if (this.#ends || question.aborted) return;
    this.#waiting.set(address, question);
    const { promise: over, resolve } = Promise.withResolvers<void>();
    question.addEventListener('abort', () => resolve(), { once: true });
    await Promise.race([this.#begun.promise, over]);
    // The next question may have come before the end of this one.
    if (!this.#ends && this.#waiting.get(address) === question) this.#waiting.delete(address);
  }

  /** Notes that somebody asks. One who was told of the end and asks again sends no more calls. */
  asked(address: string): void {
    if (this.#ends && this.#waiting.delete(address) && this.#waiting.size === 0) this.#heard.resolve();
  }

  /** Begins the end. Resolves when all who waited for it have asked again. */
  async begin(ends: { successor: boolean }): Promise<void> {
    this.#ends = ends;
    this.#begun.resolve();
    if (this.#waiting.size > 0) await this.#heard.promise;
  }
}

/** Logs which servers of this orchestrator with a label the one without refuses, whenever that changes. */
export class Refusals {
  readonly #log: Log;
  readonly #label: string;
  #told = '';

  constructor(label: string, log: Log) {
    this.#label = label;
    this.#log = log;
  }

  note(servers: readonly string[]): void {
    const names = servers.join(', ');
    if (names === this.#told) return;
    this.#told = names;
    if (names === '') return;
    const message = `no agent gets the tools of ${names}: hosts.${this.#label} of the configuration of the orchestrator without a label does not name them`;
    this.#log({ event: 'servers_not_named', servers, message });
  }
}

/** Answers which servers there are, in what state: at once, when the orchestrator ends, or when a server was reloaded. */
export async function answerHosted(
  { host, end, refusals }: Pick<HostedDeps, 'host' | 'end' | 'refusals'>,
  { at_end: isForEnd, reload: reloaded, refused = [] }: Extract<McpRequest, { op: 'hosted' }>,
  { message: { from }, cancellation }: Pick<ServedRequest, 'message' | 'cancellation'>,
): Promise<McpReply> {
  if (isForEnd) await end.begun(from.address, cancellation);
  else if (reloaded === undefined) {
    end.asked(from.address);
    refusals.note(refused);
  } else if (!host.contents().some(({ server }) => server === reloaded)) return { error: noServer(reloaded) };
  else await host.reload(reloaded);
  const { ends } = end;
  const data: HostedReply = {
    ...(ends && { ends }),
    servers: host.contents().map(({ server, state, version, problem }) => ({
      ...{ server, state, version },
      ...(problem !== undefined && { problem: problem.slice(0, 1_000) }),
    })),
  };
  return { data };
}

/** Answers with a page of a list of a server, which is started if its lists are not known. */
export async function answerHostedList(
  { host }: HostedDeps,
  { server, list, after = 0 }: Extract<McpRequest, { op: 'hosted_list' }>,
): Promise<McpReply> {
  const find = () => host.contents().find((one) => one.server === server);
  if (find()?.isKnown === false) await host.start(server);
  const found = find();
  if (!found) return { error: noServer(server) };
  const entries: object[] = [];
  let bytes = 0;
  for (const entry of found[list].slice(after)) {
    if (bytes >= pageBytes) break;
    bytes += Buffer.byteLength(JSON.stringify(entry));
    entries.push(entry);
  }
  const { instructions, prompts, resources, templates } = found;
  const data: HostedListReply = {
    entries,
    more: after + entries.length < found[list].length,
    ...(list === 'tools' && {
      ...(instructions !== undefined && { instructions }),
      kinds: [
        ...(prompts.length > 0 ? (['prompts'] as const) : []),
        ...(resources.length + templates.length > 0 ? (['resources'] as const) : []),
      ],
    }),
  };
  return { data };
}

/**
 * Returns the call under the name that its tool has here. While its server has not listed its tools, that is the name that it will probably
 * have: the journal may know the call, and a call waits for the server otherwise.
 */
export async function namedHere({ host }: Pick<HostedDeps, 'host'>, body: CallRequest): Promise<CallRequest> {
  if (!body.hosted) return body;
  const { server } = body.hosted;
  const name = host.nameOf(server, body.tool);
  if (name !== undefined) return { ...body, tool: name };
  const { origins } = await host.inventory();
  const guess = host.nameOf(server, body.tool) ?? mcpToolName(server, body.tool);
  // A name that is another server's tool would call that one; this one names no tool.
  const isOthers = (origins.get(guess)?.server ?? server) !== server;
  return { ...body, tool: isOthers ? `${server}:${body.tool}` : guess };
}

/** Asks a server for a resource, a prompt or a completion. The orchestrator that passes the request on has judged it. Never rejects. */
export async function serveHostedContent(
  { host, scheduler, callTimeoutMs, maxReplyBytes }: HostedDeps,
  request: ServedRequest,
  { method, params, round, meta, hosted }: McpContentRequest & { hosted: Hosted },
): Promise<ServeAnswer> {
  const { server, caller = request.message.from } = hosted;
  const turn = await scheduler.enter({ worker: caller.agent, server }, request.cancellation);
  let reply: McpReply;
  switch (turn.status) {
    case 'begun':
      try {
        request.started();
        const options = {
          signal: request.cancellation,
          timeoutMs: Math.min(callTimeoutMs, request.remainingMs() ?? Number.POSITIVE_INFINITY),
          caller,
          round: round && fromWireRound(round),
          traceparent: request.traceparent,
          meta: forwardedMeta(meta),
        };
        const ended = await host.request(server, { method, params }, options);
        reply =
          'error' in ended ? { error: { ...ended.error, may_have_run: false } } : { data: ended.result };
      } finally {
        turn.end();
      }
      break;
    case 'handed_back':
      if (!turn.refusal) return handBack;
      reply = { error: turn.refusal };
      break;
    case 'refused':
      reply = { error: queueRefusal(caller.agent, turn) };
      break;
    case 'aborted': {
      const message = 'the request was cancelled before it started';
      reply = { error: toolCallError('cancelled', message, { mayHaveRun: false }) };
    }
  }
  const bounded = boundedReply(reply, maxReplyBytes());
  return { kind: 'mcp_reply', body: bounded.reply, text: bounded.text };
}

function noServer(server: string): ToolCallError {
  return toolCallError('tool_not_found', `this orchestrator hosts no server '${server}'`, {
    mayHaveRun: false,
  });
}
