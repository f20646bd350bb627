import { randomInt } from 'node:crypto';
import type { BrokerClient, Log, ServeAnswer, ServedRequest, ServeLoop } from '@signalbox/client';
import type { McpHost } from '@signalbox/mcp-host';
import { ToolDigests } from '@signalbox/mcp-host/tool-calls';
import { type McpReply, messageOf, type OrchestratorFigures, SignalboxError } from '@signalbox/protocol';
import { type CallSizeLimits, defaultCallSizeLimits, type Fault, noFault } from '@signalbox/serving';
import type { CallKey, Journal } from '@signalbox/store/journal';
import { newApprovalId as newIdOfApproval } from './approvals/approval-id.ts';
import { sendApprovalNotes } from './approvals/approval-notes.ts';
import { Approvals } from './approvals/approvals.ts';
import { maxArgumentBytes } from './approvals/call-digests.ts';
import { type ApprovalLimits, defaultApprovalLimits } from './approvals/waiting-places.ts';
import { AuditTrail } from './audit/audit-trail.ts';
import { auditChangedDefinitions } from './audit/changed-definitions.ts';
import { auditServerEvents } from './audit/server-events.ts';
import { auditWithheldHints } from './audit/withheld-hints.ts';
import { BudgetLedger } from './budgets/budget-ledger.ts';
import { type BoundedReply, boundedReply } from './calls/bounded-reply.ts';
import { CallRegistry } from './calls/call-registry.ts';
import { LargeTurns, largeLength } from './calls/large-turns.ts';
import { callOfQuestion } from './calls/permission-question.ts';
import { readRequest } from './calls/request-body.ts';
import { RequestRoom } from './calls/request-room.ts';
import type { CallDeps } from './calls/step.ts';
import { type CallHandlers, createCallHandlers } from './calls/steps.ts';
import { ackUnexpectedMessages } from './calls/unexpected-messages.ts';
import { trackCatalog } from './catalog/catalog-tracker.ts';
import { defaultHeldCallLimits, type HeldCallLimits, HeldCalls } from './holds/held-calls.ts';
import { beginServing } from './journal/begin-serving.ts';
import { trackInboxOwnership } from './journal/inbox-ownership.ts';
import { watchSettledRequests } from './journal/settled-requests.ts';
import { CallMeter } from './metrics/call-meter.ts';
import { MetricsReports } from './metrics/metrics-reports.ts';
import { ServerFigures } from './metrics/server-figures.ts';
import { type OfferDeps, serveOffer } from './offers/serve-offer.ts';
import { Subscriptions } from './offers/subscriptions.ts';
import { answerOperation, type OperationDeps } from './operator/operations.ts';
import { checkPolicy, type Policy } from './operator/policy.ts';
import { DiscoveryPages } from './pages/discovery-pages.ts';
import { ManifestPages } from './pages/manifest-pages.ts';
import type { ResultStore } from './results/result-store.ts';
import { type CallLimits, defaultCallLimits, inboxWindow } from './scheduling/call-limits.ts';
import { createCallScheduler } from './scheduling/call-scheduler.ts';
import { serveTaskRound } from './tasks/serve-task-round.ts';
import { sentReply } from './tasks/task-call.ts';
import { TaskRounds } from './tasks/task-rounds.ts';

const defaultCallTimeoutMs = 60_000;
const defaultDrainMs = 5000;
/** The status of an orchestrator while another one serves its inbox. */
const waitingStatus = {
  figures: {},
  problems: ['another orchestrator serves the inbox; this one begins when that one is over'],
};

/** The dependencies and settings of an orchestrator. */
export interface OrchestratorOptions {
  /** A client that is connected as the orchestrator. The caller closes it. */
  client: BrokerClient;
  /** The host of the MCP servers. The caller closes it. */
  host: McpHost;
  /** The rules at the start, all of them; see `wholePolicy`. {@link Orchestrator.setPolicy} replaces them. */
  policy: Policy;
  /**
   * Remembers over crashes the calls that are not safe to repeat. The caller closes it, after `host`. Without a journal, calls that ran
   * during a crash run again after it.
   */
  journal?: Journal | undefined;
  /** Keeps the large results of the roles that the policy names. The caller closes it. */
  results?: ResultStore | undefined;
  /** The most calls that may run and wait; by default {@link defaultCallLimits}. The policy has the limits of single servers. */
  concurrency?: Partial<Omit<CallLimits, 'servers'>>;
  /** The most memory for waiting and running requests; the defaults are in `callLimits` of the protocol. */
  sizes?: Partial<CallSizeLimits>;
  /** The longest run of a call that sets no timeout, in milliseconds; default 60 s. */
  callTimeoutMs?: number;
  /** Describes the rules for the audit log, without secrets. It is recorded before the first request is served. */
  rules?: string;
  /** The most calls that may wait for decisions; by default {@link defaultApprovalLimits}. */
  approvalLimits?: ApprovalLimits;
  /** The most room of held calls; by default {@link defaultHeldCallLimits}. */
  heldCallLimits?: HeldCallLimits;
  /** The time between two questions to the broker which requests of the journal are settled, in milliseconds; default a minute. */
  askSettledEveryMs?: number;
  /** The time between two reports of figures to the broker, in milliseconds; default 5 s. */
  reportEveryMs?: number;
  /** The longest wait of `stop` for running calls, in milliseconds; default 5 s. */
  drainMs?: number;
  log?: Log;
  /** Called at every named point that a call passes. */
  fault?: Fault;
  /** Epoch milliseconds. */
  now?: () => number;
  /** Monotonic milliseconds, for queues and budgets. */
  monotonic?: () => number;
}

/** Serves `mcp_request` messages until it is stopped. */
export interface Orchestrator extends AsyncDisposable {
  /**
   * Accepts no new requests, leaves waiting calls to the next orchestrator on this inbox, and waits at most `drainMs` until the running
   * calls are answered.
   */
  stop(): Promise<void>;
  /**
   * Replaces the given settings together, for calls that start from now on, and notifies the roles whose tools changed. Throws
   * `SignalboxError` `bad_config` before anything has changed.
   */
  setPolicy(changes: Partial<Policy>): void;
  /** Reports to the audit log the configuration that is about to take effect. `detail` has no secrets. */
  recordConfig(detail: string): Promise<void>;
  /** Returns the figures of this orchestrator, and sentences about its problems. */
  status(): { figures: OrchestratorFigures; problems: string[] };
  /** False while another orchestrator with the same journal serves the inbox. */
  readonly isServing: boolean;
  /** The number of requests that wait, run, or whose reply the broker has not confirmed yet. */
  readonly inFlight: number;
}

/**
 * Subscribes to the client's inbox. It answers tool calls and all other operations concurrently, each under the role that the broker
 * attests. Every request gets a reply; a fault of the orchestrator itself is reported as `tool_panicked`. Throws `SignalboxError`
 * `bad_config` for invalid budgets and limits.
 */
export async function startOrchestrator(options: OrchestratorOptions): Promise<Orchestrator> {
  const { client, host, journal, policy, results, log = () => {}, now = Date.now } = options;
  const { monotonic = () => performance.now(), fault = noFault } = options;
  const hasJournal = journal !== undefined;
  checkPolicy(policy, { hasJournal });
  const { budgets, serverConcurrency: servers, ...toolPolicy } = policy;
  await using starting = new AsyncDisposableStack();

  const catalogs = trackCatalog(client, host, toolPolicy, { log, now });
  starting.defer(catalogs.stop);
  const audit = starting.use(new AuditTrail({ client, monotonic, log }));
  starting.use(auditWithheldHints(audit, host, monotonic));
  starting.use(auditChangedDefinitions(audit, host, monotonic));
  starting.defer(auditServerEvents(audit, host));
  const scheduler = createCallScheduler({ ...defaultCallLimits, ...options.concurrency, servers }, monotonic);
  const sizes = { ...defaultCallSizeLimits, ...options.sizes };
  const room = new RequestRoom(sizes);
  const reading = new LargeTurns(monotonic);
  const ledger = new BudgetLedger(budgets, monotonic);
  const registry = new CallRegistry(now);
  const ownership = trackInboxOwnership(client, journal, { log, fault });
  const maxReplyBytes = () => client.welcome.limits.message?.bytes ?? Number.POSITIVE_INFINITY;
  const minterOf = async (agent: string): Promise<string | undefined> => {
    try {
      return (await client.checkTokens({ agents: [agent] })).minters[0];
    } catch (thrown) {
      log({ event: 'tokens_not_checked', reason: messageOf(thrown) });
      return undefined;
    }
  };
  const newApprovalId = () => newIdOfApproval(randomInt);
  const digests = new ToolDigests();
  const approvals =
    journal &&
    (await Approvals.open({
      store: journal.approvals,
      client,
      policy: () => catalogs.policy.approvals,
      definitionHash: (name) => {
        const tool = catalogs.definition(name);
        return tool && digests.of(tool);
      },
      replyOf: (key) => keptReplyOf(journal, key),
      notify: (record) => sendApprovalNotes(client, record, catalogs.policy.approvals.notify, { now, log }),
      audit,
      minterOf,
      mayDecide: async (deciders) => (await client.checkTokens({ deciders })).decide,
      newId: newApprovalId,
      hidingRules: () => ({ secrets: host.secrets(), key: journal.id }),
      ...(options.approvalLimits && { limits: options.approvalLimits }),
      now,
      monotonic,
      fault,
      log,
    }));
  if (approvals) {
    starting.use(approvals);
    starting.defer(host.onInventoryChanged(() => setImmediate(() => approvals.definitionsChanged())));
  }
  const heldLimits = options.heldCallLimits ?? defaultHeldCallLimits;
  const holds = new HeldCalls({ minterOf, limits: heldLimits });
  starting.defer(client.onHolds(holds.set));
  const subscriptions = new Subscriptions({
    host,
    client,
    rules: () => catalogs.present().offerRules,
    now: monotonic,
    log,
  });
  starting.defer(() => subscriptions.close());
  starting.defer(host.onInventoryChanged(() => setImmediate(() => subscriptions.refresh())));
  const pages = { now: monotonic, maxReplyBytes };
  const operationDeps: OperationDeps = {
    host,
    scheduler,
    catalogs,
    manifests: new ManifestPages(pages),
    subscriptions,
    discoveries: new DiscoveryPages(pages),
    registry,
    tasks: new TaskRounds({ registry, journal }),
    holds,
    budgets: ledger,
    journal,
    results,
    inbox: ownership.inbox,
    maxReplyBytes,
    audit,
    approvals,
    newApprovalId,
    now,
    log,
  };
  const meter = new CallMeter();
  const callDeps: CallDeps & OfferDeps = {
    host,
    scheduler,
    catalogs,
    budgets: ledger,
    approvals,
    holds,
    reading,
    callTimeoutMs: options.callTimeoutMs ?? defaultCallTimeoutMs,
    registry,
    journal,
    results,
    minterOf,
    ownership,
    maxReplyBytes,
    replies: new LargeTurns(monotonic),
    meter,
    now,
    fault,
    audit,
    monotonic,
    log,
  };

  const calls = createCallHandlers(callDeps);

  // Calls that wait for a decision or a release have places of their own, so that others are not held up by them.
  const { all: asked } = options.approvalLimits ?? defaultApprovalLimits;
  const mayWait = {
    calls: asked + heldLimits.calls,
    bytes: asked * maxArgumentBytes + heldLimits.bytes,
  };
  const serving = starting.use(new AsyncDisposableStack());
  let requests: ServeLoop | undefined;
  let reports: MetricsReports | undefined;
  const serve = async (): Promise<void> => {
    if (options.rules !== undefined)
      await audit.recordBefore({ code: 'config_applied', detail: options.rules });
    // No call starts before the holds are known.
    await Promise.race([holds.known, client.closed.then(refuseClosed)]);
    const loop = serving.use(
      await client.serve(
        ['mcp_request'],
        (request) => answerRequest(request, room, calls, callDeps, operationDeps),
        {
          concurrency: inboxWindow + mayWait.calls,
          window: inboxWindow + mayWait.calls,
          windowBytes: sizes.bytes + mayWait.bytes + (client.welcome.limits.message?.bytes ?? 0),
          ...ownership.serveOptions,
          tellsStart: true,
          readsBody: true,
        },
      ),
    );
    requests = loop;
    if (journal) {
      const { inbox } = ownership;
      serving.use(watchSettledRequests({ client, journal, inbox, everyMs: options.askSettledEveryMs, log }));
    }
    const servers = new ServerFigures({ host, scheduler });
    reports = serving.use(
      new MetricsReports({
        client,
        calls: meter,
        servers,
        holds,
        approvals,
        results,
        now,
        monotonic,
        everyMs: options.reportEveryMs,
      }),
    );
    const otherMessages = serving.use(await client.subscribe());
    void ackUnexpectedMessages(client, otherMessages, log);
    // This runs before the requests are disposed: waiting calls are handed back, and only running ones are waited for.
    serving.defer(scheduler.close);
    serving.defer(() => holds.close());
    if (approvals) serving.defer(() => approvals.close());
  };
  const turn = new AbortController();
  const begun = beginServing(serve, { journal, inbox: ownership.inbox, signal: turn.signal, log });
  starting.defer(async () => {
    turn.abort();
    // If it can't begin, the start itself reports that.
    await begun.then(
      ({ over }) => over,
      () => {},
    );
  });
  await begun;
  catalogs.current().catch((thrown) => log({ event: 'inventory_failed', reason: messageOf(thrown) }));

  const started = starting.move();
  let stopping: Promise<void> | undefined;
  const stop = () => {
    stopping ??= atMost(options.drainMs ?? defaultDrainMs, started.disposeAsync(), () =>
      log({ event: 'drain_gave_up', inFlight: requests?.inFlight ?? 0 }),
    );
    return stopping;
  };
  const setPolicy = (changes: Partial<Policy>) => {
    checkPolicy(changes, { hasJournal });
    const { budgets, serverConcurrency, ...toolPolicy } = changes;
    if (Object.keys(toolPolicy).length > 0) catalogs.setPolicy(toolPolicy);
    if (budgets) ledger.setBudgets(budgets);
    if (serverConcurrency) scheduler.setServerLimits(serverConcurrency);
  };
  return {
    stop,
    setPolicy,
    status: () => reports?.collect() ?? waitingStatus,
    recordConfig: (detail) => audit.recordBefore({ code: 'config_applied', detail }),
    get isServing() {
      return requests !== undefined;
    },
    get inFlight() {
      return requests?.inFlight ?? 0;
    },
    [Symbol.asyncDispose]: stop,
  };
}

function refuseClosed(reason: SignalboxError | undefined): never {
  throw reason ?? new SignalboxError('closed', 'the client was closed before the orchestrator had started');
}

async function answerRequest(
  served: ServedRequest,
  room: RequestRoom,
  calls: CallHandlers,
  callDeps: CallDeps & OfferDeps,
  operationDeps: OperationDeps,
): Promise<ServeAnswer> {
  const { message } = served;
  const place = room.place(message.from.agent);
  // There is no `using` here, since it is compiled to a stack of resources for each request.
  try {
    const endTurn = (message.body?.length ?? 0) > largeLength ? await callDeps.reading.next() : undefined;
    const full = place.take(message.body ?? '');
    // A request that may have started needs its own answer, not one that says it did not run.
    const isRefused = full && !(await mayHaveStarted(callDeps, message));
    const { request, refusal } = isRefused ? { refusal: full } : readRequest(message.body);
    endTurn?.();
    if (request?.op === 'call') return await calls.toolCall({ request: served, body: request, place });
    if (request?.op === 'request')
      return await serveOffer(callDeps, { request: served, body: request, place });
    if (request?.op === 'ask_permission')
      return await calls.question({ request: served, ...callOfQuestion(request), place });
    if (request?.op === 'update_task')
      return await serveTaskRound(
        { ...callDeps, calls, tasks: operationDeps.tasks },
        { request: served, body: request, place },
      );
    const reply = refusal ? { error: refusal } : await answerOperation(operationDeps, message.from, request);
    return answerOf(boundedReply(reply, operationDeps.maxReplyBytes()));
  } finally {
    place[Symbol.dispose]();
  }
}

/** Tells whether a call with this message may have run before, here or in another orchestrator, or has waited for a decision. */
async function mayHaveStarted(
  { journal, ownership, approvals }: CallDeps,
  { id, from, seq }: ServedRequest['message'],
): Promise<boolean> {
  const key = { agent: from.agent, requestId: id };
  if (ownership.mayHaveStartedElsewhere(seq)) return true;
  return (await journal?.find(key)) !== undefined || (await approvals?.of(key)) !== undefined;
}

async function keptReplyOf(journal: Journal, key: CallKey): Promise<McpReply | undefined> {
  const reply = (await journal.find(key))?.end?.reply;
  return reply === undefined ? undefined : sentReply(reply);
}

function answerOf({ reply, text }: BoundedReply): ServeAnswer {
  return { kind: 'mcp_reply', body: reply, text };
}

/** Waits for `work`, but no longer than `ms`. */
async function atMost(ms: number, work: Promise<void>, onLate: () => void): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<void>((resolve) => {
    timer = setTimeout(() => {
      onLate();
      resolve();
    }, ms);
  });
  await Promise.race([work, late]);
  clearTimeout(timer);
}
