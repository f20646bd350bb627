import { handBack, type Log, type ServeAnswer, type ServedRequest } from '@signalbox/client';
import type { McpHost } from '@signalbox/mcp-host';
import {
  forwardedMeta,
  fromWireRound,
  isKeptResultUri,
  type McpContentRequest,
  type McpReply,
  messageOf,
  parseKeptResultUri,
  type ToolCallError,
  toolCallError,
  whyNotNormal,
} from '@signalbox/protocol';
import type { AuditTrail } from '../audit/audit-trail.ts';
import { callEvent, keptResultRead } from '../audit/call-events.ts';
import type { BudgetLedger } from '../budgets/budget-ledger.ts';
import { type BoundedReply, boundedReply } from '../calls/bounded-reply.ts';
import { outcomeOf } from '../calls/call-outcome.ts';
import type { CallSlot } from '../calls/call-room.ts';
import { type LargeSlices, largeLength } from '../calls/large-slices.ts';
import { maySeeReply, panicError } from '../calls/tool-refusals.ts';
import type { Catalog } from '../catalog/catalog.ts';
import type { CatalogTracker } from '../catalog/catalog-tracker.ts';
import type { CallSubject, HeldCalls } from '../holds/held-calls.ts';
import { keepAnswer, keptText, withReason } from '../results/keep-large.ts';
import { readKept } from '../results/read-kept.ts';
import { partBytes, resultRuleOf } from '../results/result-rules.ts';
import type { ResultStore } from '../results/result-store.ts';
import type { CallScheduler } from '../scheduling/call-scheduler.ts';
import { queueRefusal } from '../scheduling/queue-refusal.ts';
import { checkedAnswer } from './checked-answer.ts';
import {
  explainRead,
  type McpContentRoute,
  type McpContentRouting,
  routeMcpContent,
} from './route-mcp-content.ts';

/** The dependencies of {@link serveMcpContent}. */
export interface McpContentDeps {
  host: McpHost;
  scheduler: CallScheduler;
  catalogs: Pick<CatalogTracker, 'latest' | 'current'>;
  budgets: BudgetLedger;
  holds: HeldCalls;
  /** The kept large results; `undefined` if none are kept. */
  results: ResultStore | undefined;
  callTimeoutMs: number;
  maxReplyBytes: () => number;
  /** Returns the minting token that issued the token of an agent. Never rejects. */
  minterOf: (agent: string) => Promise<string | undefined>;
  /** The slices of large replies: one is sent when the one before it is stored. */
  replies: LargeSlices;
  audit: Pick<AuditTrail, 'record'>;
  log: Log;
  /** Epoch milliseconds. */
  now: () => number;
}

/** A request for a resource, a prompt or a completion that is being served. */
interface McpContentCall {
  request: ServedRequest;
  body: McpContentRequest;
  slot: CallSlot;
}

/** The end of a request, and its facts for the audit log. */
interface McpContentEnd {
  reply: McpReply;
  server?: string;
  startedAt?: number;
  rule?: string | undefined;
  detail?: string;
  /** The resource that was read, under its server's name of it. */
  resource?: string | undefined;
}

/** A request that may not start now because a hold is on it. */
interface OnHold {
  onHold: CallSubject;
}

/**
 * Answers a request for a resource, a prompt or a completion. This request has no effect: it is not journaled, and runs again if it comes
 * again. Otherwise it takes the same steps as a call: allowlist, hold, budget, queue, allowlist and hold again, host. So does the read of a
 * kept result, which this orchestrator answers itself. Never rejects.
 */
export async function serveMcpContent(deps: McpContentDeps, call: McpContentCall): Promise<ServeAnswer> {
  const { request, body } = call;
  const { from, id } = request.message;
  const receivedAt = deps.now();
  let ended: McpContentEnd | typeof handBack;
  try {
    ended = await runMcpContent(deps, call);
  } catch (thrown) {
    deps.log({ event: 'request_panicked', id, reason: messageOf(thrown) });
    ended = { reply: { error: panicError({ mayHaveRun: false }) } };
  }
  if (ended === handBack) return handBack;
  const { reply, text } = await deliverable(deps, call, ended);
  const record = {
    request_id: id,
    ...{ agent: from.agent, role: from.role, tool: body.method, state: 'finished' as const },
    received_at: receivedAt,
    finished_at: deps.now(),
    outcome: outcomeOf(reply),
    ...(ended.server !== undefined && { server: ended.server }),
    ...(ended.startedAt !== undefined && { started_at: ended.startedAt }),
    request_bytes: Buffer.byteLength(request.message.body ?? ''),
    reply_bytes: Buffer.byteLength(text),
  };
  const detail = 'kept' in reply ? keptText({ reply, keptBytes: reply.kept.bytes }) : (ended.detail ?? '');
  deps.audit.record(callEvent(record, { rule: ended.rule, detail }), record.finished_at);
  const endSlice = text.length > largeLength ? await deps.replies.next() : undefined;
  const errorCode = 'error' in reply ? reply.error.code : undefined;
  return { kind: 'mcp_reply', body: reply, errorCode, settled: () => endSlice?.() };
}

/** Makes a reply that can be delivered. The answer to a read that is too long for that is kept, and its reader is told where. */
async function deliverable(
  deps: McpContentDeps,
  { request }: McpContentCall,
  ended: McpContentEnd,
): Promise<BoundedReply> {
  const bounded = boundedReply(ended.reply, deps.maxReplyBytes());
  const { server, resource, reply } = ended;
  const isTooLarge = 'error' in bounded.reply && bounded.reply.error.code === 'result_too_large';
  if (!isTooLarge || server === undefined || resource === undefined || !('data' in reply)) return bounded;
  const { agent, role } = request.message.from;
  const read = { agent, role, resource: { server, uri: resource }, answer: reply.data };
  const kept = await keepAnswer(deps, read);
  return boundedReply(
    'notKept' in kept ? withReason(bounded.reply, kept.notKept) : kept,
    deps.maxReplyBytes(),
  );
}

async function runMcpContent(
  deps: McpContentDeps,
  call: McpContentCall,
): Promise<McpContentEnd | typeof handBack> {
  const { request, slot } = call;
  for (;;) {
    const ended = await tryMcpContent(deps, call);
    if (ended === handBack || !('onHold' in ended)) return ended;
    slot[Symbol.dispose]();
    const end = await deps.holds.wait({ request, subject: ended.onHold, onHold: () => {} });
    if (end.status === 'handed_back') return handBack;
    if (end.status === 'refused') return failed(end.error);
    const full = slot.take(request.message.body ?? '');
    if (full) return failed(full);
  }
}

async function tryMcpContent(
  deps: McpContentDeps,
  call: McpContentCall,
): Promise<McpContentEnd | typeof handBack | OnHold> {
  const { request } = call;
  const { agent, role } = request.message.from;
  const target = targetOf(deps, await deps.catalogs.current(), call);
  if ('refusal' in target) return failed(target.refusal, target.rule);
  if (deps.holds.on(target.subject)) return { onHold: target.subject };
  const { takeBack, refusal } = target.isPaid ? unpaid : deps.budgets.take({ agent, role });
  if (refusal) return failed(refusal);
  const queued = { worker: agent, server: target.server };
  const turn = await deps.scheduler.enter(queued, request.cancellation);
  if (turn.status === 'begun') {
    try {
      const again = targetOf(deps, await deps.catalogs.current(), call);
      if ('refusal' in again) return failed(again.refusal, again.rule);
      if (deps.holds.on(again.subject)) {
        takeBack();
        return { onHold: again.subject };
      }
      request.started();
      return await again.ask();
    } finally {
      turn.end();
    }
  }
  takeBack();
  if (turn.status === 'handed_back') return handBack;
  if (turn.status === 'refused') return failed(queueRefusal(agent, turn));
  return failed(
    toolCallError('cancelled', 'the request was cancelled before it started', { mayHaveRun: false }),
  );
}

/** Stands for a slot in the budget of a role where none is taken. */
const unpaid = { takeBack: () => {}, refusal: undefined };

/** The server, or the orchestrator itself, that answers a request, under its name in queues and holds. */
interface McpContentTarget {
  subject: CallSubject;
  server: string;
  /** True for a part of an answer for which the budget was charged when its server was asked. */
  isPaid: boolean;
  ask: () => Promise<McpContentEnd>;
}

/** Finds the party that answers: a hosted server, or this orchestrator with a result that it keeps. */
function targetOf(
  deps: McpContentDeps,
  catalog: Catalog,
  call: McpContentCall,
): McpContentTarget | Extract<McpContentRouting, { refusal: ToolCallError }> {
  const { method, params } = call.body;
  const { agent, role } = call.request.message.from;
  const { uri } = params;
  if (method === 'resources/read' && isKeptResultUri(uri)) {
    const subject = { agent, role, tool: keptResults, origin: undefined };
    const read = parseKeptResultUri(uri);
    const isPaid = 'id' in read && deps.results?.callOf(read.id)?.resource !== undefined;
    return { subject, server: keptResults, isPaid, ask: () => readOwnResult(deps, call, uri) };
  }
  const routing = routed(catalog, call);
  if ('refusal' in routing) return routing;
  const { route } = routing;
  return {
    subject: { agent, role, tool: route.name, origin: route.origin, isUri: route.isUri },
    server: route.server,
    isPaid: false,
    ask: () => askHost(deps, call, route),
  };
}

/** Stands for the kept results where a server or a tool is expected. No server can have this name. */
const keptResults = 'signalbox://result';

async function readOwnResult(
  deps: McpContentDeps,
  { request }: McpContentCall,
  uri: string,
): Promise<McpContentEnd> {
  const startedAt = deps.now();
  const catalog = await deps.catalogs.current();
  const { agent, role } = request.message.from;
  const reply = await readKept(
    {
      results: deps.results,
      mayRead: (call) =>
        call.agent === agent &&
        (call.resource
          ? explainRead(catalog.mcpContentRules, role, call.resource).allowed
          : maySeeReply(catalog, role, call)),
      mostBytes: partBytes(resultRuleOf(catalog.results, role)),
      maxReplyBytes: deps.maxReplyBytes(),
    },
    uri,
  );
  return { reply, startedAt, detail: keptResultRead };
}

async function askHost(
  deps: McpContentDeps,
  { request, body }: McpContentCall,
  route: McpContentRoute,
): Promise<McpContentEnd> {
  const startedAt = deps.now();
  const { server, params } = route;
  const remainingMs = request.remainingMs() ?? Number.POSITIVE_INFINITY;
  const { method, round } = body;
  const { from } = request.message;
  const ended = await deps.host.request(
    server,
    { method, params },
    {
      signal: request.cancellation,
      timeoutMs: Math.min(deps.callTimeoutMs, remainingMs),
      caller: from,
      round: round && fromWireRound(round),
      traceparent: request.traceparent,
      meta: forwardedMeta(body.meta),
    },
  );
  if ('error' in ended)
    return { reply: { error: { ...ended.error, may_have_run: false } }, server, startedAt };
  const { mcpContentRules } = await deps.catalogs.current();
  const mayRead = (uri: string) =>
    whyNotNormal(uri) === undefined && explainRead(mcpContentRules, from.role, { server, uri }).allowed;
  return {
    reply: checkedAnswer(ended.result, route, { canAnswer: round !== undefined, mayRead }),
    server,
    startedAt,
    resource: route.resource?.uri,
  };
}

function routed(
  { mcpContentRules, inventory }: Catalog,
  { request, body }: McpContentCall,
): McpContentRouting {
  const { method, seen_in: seenIn, params } = body;
  // These are sent separately from the parameters, as `meta` and `round`.
  const { _meta, inputResponses, requestState, ...own } = params;
  const seenAt = seenIn === undefined ? undefined : inventory.origins.get(seenIn)?.server;
  return routeMcpContent(mcpContentRules, request.message.from.role, { method, params: own, seenAt });
}

function failed(error: ToolCallError, rule?: string): McpContentEnd {
  return { reply: { error }, rule };
}
