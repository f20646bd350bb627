import { randomInt } from 'node:crypto';
import {
  type BrokerClient,
  handBack,
  type Log,
  type ServeAnswer,
  type ServedRequest,
  type ServeLoop,
} from '@signalbox/client';
import type { McpHost } from '@signalbox/mcp-host';
import { ToolDigests } from '@signalbox/mcp-host/tool-calls';
import {
  messageOf,
  type OrchestratorFigures,
  type ServersReply,
  SignalboxError,
  type ToolCallError,
} from '@signalbox/protocol';
import {
  type CallSizeLimits,
  defaultCallSizeLimits,
  type Fault,
  late,
  noFault,
  within,
} from '@signalbox/serving';
import { SampleKeeper } from '@signalbox/serving/monitoring';
import type { Journal } from '@signalbox/store/journal';
import { sendApprovalNotes } from './approvals/approval-notices.ts';
import { boundDefinition, newApprovalId as newIdOfApproval } from './approvals/approval-record.ts';
import { Approvals } from './approvals/approvals.ts';
import { maxArgumentBytes } from './approvals/call-digests.ts';
import { type ApprovalLimits, defaultApprovalLimits } from './approvals/waiting-slots.ts';
import { AuditTrail } from './audit/audit-trail.ts';
import { auditChangedDefinitions } from './audit/changed-definitions.ts';
import { auditServerEvents } from './audit/server-events.ts';
import { auditWithheldHints } from './audit/withheld-hints.ts';
import { BudgetLedger } from './budgets/budget-ledger.ts';
import { readEarlierCalls } from './budgets/earlier-calls.ts';
import { type BoundedReply, boundedReply } from './calls/bounded-reply.ts';
import { Call } from './calls/call.ts';
import { outcomeUnknown } from './calls/call-outcome.ts';
import { CallRegistry } from './calls/call-registry.ts';
import { CallRoom } from './calls/call-room.ts';
import { LargeSlices, largeLength } from './calls/large-slices.ts';
import { callOfQuestion } from './calls/permission-question.ts';
import { readRequest } from './calls/request-body.ts';
import type { CallDeps } from './calls/step.ts';
import { createCallHandlers } from './calls/steps.ts';
import { ackUnexpectedMessages } from './calls/unexpected-messages.ts';
import { type CatalogTracker, trackCatalog } from './catalog/catalog-tracker.ts';
import { defaultHeldCallLimits, type HeldCallLimits, HeldCalls } from './holds/held-calls.ts';
import { type Duties, noDuties } from './hosting/duties.ts';
import {
  answerHosted,
  answerHostedList,
  type HostedDeps,
  namedHere,
  OrderlyEnd,
  Refusals,
  refusedAtEnd,
  refuseMisplaced,
  serveHostedContent,
} from './hosting/hosted-requests.ts';
import { beginServing } from './journal/begin-serving.ts';
import { trackInboxOwnership } from './journal/inbox-ownership.ts';
import { watchSettledRequests } from './journal/settled-requests.ts';
import { type McpContentDeps, serveMcpContent } from './mcp-content/serve-mcp-content.ts';
import { Subscriptions } from './mcp-content/subscriptions.ts';
import { CallMeter } from './metrics/call-meter.ts';
import { MetricsReports } from './metrics/metrics-reports.ts';
import { ServerFigures } from './metrics/server-figures.ts';
import { answerOperation, type OperationDeps } from './operator/operations.ts';
import { checkPolicy, type Policy } from './operator/policy.ts';
import type { LabelledHosts } from './operator/server-operations.ts';
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
  /**
   * The path of a Unix socket, in a directory that only this user may change, on which workers on this machine are served directly. Without
   * it, all calls come through the broker.
   */
  lanes?: string | undefined;
  /**
   * True for an orchestrator with a label. It makes calls for the orchestrators without one, which have the rules, asks the broker for
   * nothing but its own inbox, and reports no calls to the audit log, because those do.
   */
  isHost?: boolean;
  /** The longest run of a call that sets no timeout, in milliseconds; default 60 s. */
  callTimeoutMs?: number;
  /** Describes the rules for the audit log, without secrets. It is recorded before the first request is served. */
  rules?: string;
  /** Returns which files of other clients can't be read now, and why. Operators are shown it. */
  unreadFiles?: () => readonly string[];
  /** The orchestrators with labels, whose servers are among those of the host. */
  hosts?: LabelledHosts;
  /** The most calls that may wait for decisions; by default {@link defaultApprovalLimits}. */
  approvalLimits?: ApprovalLimits;
  /** The most room of held calls; by default {@link defaultHeldCallLimits}. */
  heldCallLimits?: HeldCallLimits;
  /** The file in which samples of the calls survive this process. Without one, they end with it. */
  samplesFile?: string;
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
  /** Shows operators, and reports to the audit log, why the newest configuration is not in force, until {@link acceptConfig}. */
  refuseConfig(reason: string): Promise<void>;
  /** Shows that the newest configuration is in force. */
  acceptConfig(restart: readonly string[]): void;
  /** Returns the figures of this orchestrator, and sentences about its problems. */
  status(): { figures: OrchestratorFigures; problems: string[] };
  /** False while another orchestrator with the same journal serves the inbox. */
  readonly isServing: boolean;
  /** The number of requests that wait, run, or whose reply the broker has not confirmed yet. */
  readonly inFlight: number;
}

/** The dependencies and the clocks that all parts share. `ends` ends the parts, in the reverse order of their starts. */
interface Base {
  client: BrokerClient;
  /** What the orchestrator asks of the broker, and tells it, about all agents. */
  duties: Duties;
  host: McpHost;
  journal: Journal | undefined;
  log: Log;
  fault: Fault;
  now: () => number;
  monotonic: () => number;
  ends: AsyncDisposableStack;
}

/**
 * Subscribes to the client's inbox. It answers tool calls and all other operations concurrently, each under the role that the broker
 * attests. Every request gets a reply; a fault of the orchestrator itself is reported as `tool_panicked`. Throws `SignalboxError`
 * `bad_config` for invalid budgets and limits.
 */
export async function startOrchestrator(options: OrchestratorOptions): Promise<Orchestrator> {
  const { client, host, journal, policy, results, log = () => {}, now = Date.now } = options;
  const { monotonic = performance.now.bind(performance), fault = noFault } = options;
  const hasJournal = journal !== undefined;
  checkPolicy(policy, { hasJournal });
  const { budgets, serverConcurrency: servers, ...toolPolicy } = policy;
  await using ends = new AsyncDisposableStack();
  const { isHost = false } = options;
  const duties = isHost ? noDuties(client) : client;
  const base: Base = { client, duties, host, journal, log, fault, now, monotonic, ends };

  const catalogs = trackCatalog(duties, host, toolPolicy, { log, now, monotonic });
  ends.defer(catalogs.stop);
  const audit = startAudit(base);
  const scheduler = createCallScheduler({ ...defaultCallLimits, ...options.concurrency, servers }, monotonic);
  const ledger = new BudgetLedger(budgets, monotonic);
  const minterOf = minterFinder(duties, log);
  const approvals = await startApprovals(base, { catalogs, audit, minterOf, limits: options.approvalLimits });
  const holds = startHolds(base, minterOf, options.heldCallLimits);
  const subscriptions = startSubscriptions(base, catalogs);
  const shared = {
    ...{ host, scheduler, catalogs, budgets: ledger, approvals, holds, journal, results },
    end: new OrderlyEnd(),
    refusals: new Refusals(client.agent.slice(client.agent.indexOf('.') + 1), log),
    registry: new CallRegistry(now),
    ownership: trackInboxOwnership(client, journal, { log, fault }),
    meter: new CallMeter(),
    maxReplyBytes: () => client.welcome.limits.message?.bytes ?? Number.POSITIVE_INFINITY,
    ...{ minterOf, audit, now, monotonic, log },
  };
  const { registry, ownership } = shared;
  const calls: ServingDeps = {
    ...shared,
    fault: fault === noFault ? undefined : fault,
    reading: new LargeSlices(monotonic),
    replies: new LargeSlices(monotonic),
    callTimeoutMs: options.callTimeoutMs ?? defaultCallTimeoutMs,
  };
  const pages = { now: monotonic, maxReplyBytes: shared.maxReplyBytes };
  let configProblem: ServersReply['config_problem'];
  let restartNeeded: ServersReply['restart_needed'];
  const operations: Omit<OperationDeps, 'samples'> = {
    ...shared,
    configProblem: () => configProblem,
    restartNeeded: () => restartNeeded,
    inbox: ownership.inbox,
    manifests: new ManifestPages(pages),
    discoveries: new DiscoveryPages(pages),
    tasks: new TaskRounds({ registry, journal }),
    unreadFiles: options.unreadFiles,
    hosts: options.hosts,
    subscriptions,
    newApprovalId: () => newIdOfApproval(randomInt),
  };

  const serving = ends.use(new AsyncDisposableStack());
  let served: Served | undefined;
  const serve = async (): Promise<void> => {
    served = await serveRequests({ ...base, ends: serving }, options, calls, operations);
  };
  const turn = new AbortController();
  const begun = beginServing(serve, { journal, inbox: ownership.inbox, signal: turn.signal, log });
  ends.defer(async () => {
    turn.abort();
    // If it can't begin, the start itself reports that.
    await begun.then(
      ({ over }) => over,
      () => {},
    );
  });
  await begun;
  catalogs.current().catch((thrown) => log({ event: 'inventory_failed', reason: messageOf(thrown) }));

  const started = ends.move();
  let stopping: Promise<void> | undefined;
  const endInOrder = async () => {
    if (isHost && served) await sayGoodbye(client, calls);
    await started.disposeAsync();
  };
  const stop = () => {
    stopping ??= within(endInOrder(), options.drainMs ?? defaultDrainMs).then((ended) => {
      if (ended === late) log({ event: 'drain_gave_up', inFlight: served?.requests.inFlight ?? 0 });
    });
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
    status: () => served?.reports.collect() ?? waitingStatus,
    recordConfig: (detail) => audit.recordBefore({ code: 'config_applied', detail }),
    refuseConfig: async (reason) => {
      if (configProblem?.reason === reason) return;
      configProblem = { since: configProblem?.since ?? now(), reason };
      await audit.recordBefore({ code: 'config_refused', detail: reason });
    },
    acceptConfig: (restart) => {
      configProblem = undefined;
      restartNeeded =
        restart.length > 0 ? { since: restartNeeded?.since ?? now(), keys: [...restart] } : undefined;
    },
    get isServing() {
      return served !== undefined;
    },
    get inFlight() {
      return served?.requests.inFlight ?? 0;
    },
    [Symbol.asyncDispose]: stop,
  };
}

/** Reports to the audit log how calls end, and what becomes of servers, hints and definitions. */
function startAudit({ duties: client, host, now, monotonic, log, ends }: Base): AuditTrail {
  const audit = ends.use(
    new AuditTrail({ client, hostOf: (server) => host.labelOf(server), now, monotonic, log }),
  );
  ends.use(auditWithheldHints(audit, host, monotonic));
  ends.use(auditChangedDefinitions(audit, host, monotonic));
  ends.defer(auditServerEvents(audit, host));
  return audit;
}

type MinterOf = CallDeps['minterOf'];

/** Makes a function that asks the broker for the minting token of an agent. While the broker is away, it is unknown. */
function minterFinder(client: Pick<BrokerClient, 'checkTokens'>, log: Log): MinterOf {
  return async (agent) => {
    try {
      return (await client.checkTokens({ agents: [agent] })).minters[0];
    } catch (thrown) {
      log({ event: 'tokens_not_checked', reason: messageOf(thrown) });
      return undefined;
    }
  };
}

interface ApprovalParts {
  catalogs: CatalogTracker;
  audit: AuditTrail;
  minterOf: MinterOf;
  limits: ApprovalLimits | undefined;
}

/** Makes calls wait for decisions. Without a journal, in which their records are, no call may wait. */
async function startApprovals(
  { client, host, journal, ends, ...base }: Base,
  { catalogs, audit, minterOf, limits }: ApprovalParts,
): Promise<Approvals | undefined> {
  if (!journal) return undefined;
  const digests = new ToolDigests();
  const approvals = await Approvals.open({
    ...base,
    ...{ store: journal.approvals, client, audit, minterOf },
    policy: () => catalogs.policy.approvals,
    definitionHash: (name) => {
      const tool = catalogs.sentDefinition(name);
      const { server } = host.route(name);
      return tool && boundDefinition(digests.of(tool), server && host.labelOf(server));
    },
    replyOf: async (key) => {
      const reply = (await journal.find(key))?.end?.reply;
      return reply === undefined ? undefined : sentReply(reply);
    },
    notify: (record) => sendApprovalNotes(client, record, catalogs.policy.approvals.notify, base),
    mayDecide: async (deciders) => (await client.checkTokens({ deciders })).decide,
    newId: () => newIdOfApproval(randomInt),
    hidingRules: () => ({ secrets: host.secrets(), key: journal.id }),
    ...(limits && { limits }),
  });
  ends.use(approvals);
  ends.defer(host.onInventoryChanged(() => setImmediate(() => approvals.definitionsChanged())));
  return approvals;
}

/** Makes calls wait while a hold is on them. */
function startHolds({ duties: client, ends }: Base, minterOf: MinterOf, limits?: HeldCallLimits): HeldCalls {
  const holds = new HeldCalls({ minterOf, ...(limits && { limits }) });
  ends.defer(client.onHolds(holds.set));
  return holds;
}

/** Tells agents of changes of the resources that they follow. */
function startSubscriptions(
  { client, host, monotonic, log, ends }: Base,
  catalogs: CatalogTracker,
): Subscriptions {
  const rules = () => catalogs.present().mcpContentRules;
  const subscriptions = new Subscriptions({ host, client, rules, now: monotonic, log });
  ends.defer(() => subscriptions.close());
  ends.defer(host.onInventoryChanged(() => setImmediate(() => subscriptions.refresh())));
  return subscriptions;
}

/** The dependencies of calls and of MCP content, with those that report about them. */
type ServingDeps = CallDeps &
  McpContentDeps & { meter: CallMeter; audit: AuditTrail } & Pick<HostedDeps, 'end' | 'refusals'>;

/** The requests that are served, and the figures about them. */
interface Served {
  requests: ServeLoop;
  reports: MetricsReports;
}

/** Serves the inbox until `ends` is disposed. Waiting calls are handed back then, and only running ones are waited for. */
async function serveRequests(
  { client, host, journal, now, monotonic, log, ends }: Base,
  options: OrchestratorOptions,
  calls: ServingDeps,
  answering: Omit<OperationDeps, 'samples'>,
): Promise<Served> {
  const { approvals, audit, budgets, holds, results, scheduler, ownership, meter } = calls;
  if (options.rules !== undefined) {
    await audit.recordBefore({ code: 'config_applied', detail: options.rules });
  }
  // No call starts before the holds are known, and what an earlier process has used of the budgets.
  await Promise.race([holds.known, client.closed.then(refuseClosed)]);
  if (budgets.longestMs > 0)
    budgets.countEarlier(await readEarlierCalls({ client, journal, now, log }, budgets.longestMs));
  const samples = ends.use(
    await SampleKeeper.open({
      file: options.samplesFile,
      collect: () => meter.sampled(),
      warn: (event, message) => log({ event, message }),
      ...{ now, monotonic },
    }),
  );
  const sizes = { ...defaultCallSizeLimits, ...options.sizes };
  const operations = { ...answering, samples };
  const answer = requestAnswerer(new CallRoom(sizes), calls, operations, options.isHost ?? false);
  // Calls that wait for a decision or a release have slots of their own, so that others are not held up by them.
  const { all: asked } = options.approvalLimits ?? defaultApprovalLimits;
  const held = options.heldCallLimits ?? defaultHeldCallLimits;
  const window = inboxWindow + asked + held.calls;
  const messageBytes = client.welcome.limits.message?.bytes ?? 0;
  const requests = ends.use(
    await client.serve(['mcp_request'], answer, {
      concurrency: window,
      window,
      windowBytes: sizes.bytes + asked * maxArgumentBytes + held.bytes + messageBytes,
      ...ownership.serveOptions,
      lanes: options.lanes,
      tellsStart: true,
      readsBody: true,
    }),
  );
  if (journal) {
    const { inbox } = ownership;
    ends.use(watchSettledRequests({ client, journal, inbox, everyMs: options.askSettledEveryMs, log }));
  }
  const servers = new ServerFigures({ host, scheduler });
  const reports = ends.use(
    new MetricsReports({
      ...{ client, calls: meter, servers, holds, approvals, results, now, monotonic },
      everyMs: options.reportEveryMs,
    }),
  );
  const otherMessages = ends.use(await client.subscribe());
  void ackUnexpectedMessages(client, otherMessages, log);
  // These run before the requests are disposed.
  ends.defer(scheduler.close);
  ends.defer(() => holds.close());
  if (approvals) ends.defer(() => approvals.close());
  return { requests, reports };
}

function refuseClosed(reason: SignalboxError | undefined): never {
  throw reason ?? new SignalboxError('closed', 'the client was closed before the orchestrator had started');
}

/** The longest wait of an orchestrator that ends for the broker, and for those that are told, in milliseconds. */
const goodbyeMs = 500;

/**
 * Ends the calls of an orchestrator with a label that have not begun, and tells those that pass calls on. It serves meanwhile, so that calls
 * that are on their way are refused, too.
 */
async function sayGoodbye(client: BrokerClient, { scheduler, end }: ServingDeps): Promise<void> {
  // Another one of this label waits with a connection of its own.
  const others = client
    .findRecipient(client.agent)
    .then(({ connections }) => connections.filter(({ address }) => address === client.agent).length > 1);
  const found = await within(
    others.catch(() => false),
    goodbyeMs,
  );
  const successor = found === true;
  scheduler.close(successor ? undefined : refusedAtEnd);
  await within(end.begin({ successor }), goodbyeMs);
}

/** Makes the function that answers each request by its operation. */
function requestAnswerer(
  room: CallRoom,
  callDeps: ServingDeps,
  operations: OperationDeps,
  isHost: boolean,
): (request: ServedRequest) => Promise<ServeAnswer> {
  const calls = createCallHandlers(callDeps);
  const rounds = { ...callDeps, calls, tasks: operations.tasks };
  return async (request) => {
    const { message } = request;
    const slot = room.slot(message.from.agent);
    // There is no `using` here, since it is compiled to a stack of resources for each request.
    try {
      const isLarge = (message.body?.length ?? 0) > largeLength;
      const endSlice = isLarge ? await callDeps.reading.next() : undefined;
      const full = slot.take(message.body ?? '');
      // A request that may have started needs its own answer, not one that says it did not run.
      const isRefused = full && !(await mayHaveStarted(callDeps, message));
      const { request: body, refusal } = isRefused
        ? { refusal: withoutRoom(callDeps, message, full) }
        : readRequest(message.body);
      endSlice?.();
      // Only calls know what becomes of them when a lane is lost.
      if (body && body.op !== 'call' && !request.mayWait) return handBack;
      const misplaced = body && refuseMisplaced(message.from, body, isHost);
      if (misplaced) return answerOf(boundedReply({ error: misplaced }, operations.maxReplyBytes()));
      switch (body?.op) {
        case 'call': {
          const named = body.hosted ? await namedHere(callDeps, body) : body;
          return await calls.toolCall(new Call({ request, body: named, slot }));
        }
        case 'request': {
          const { hosted } = body;
          if (hosted) return await serveHostedContent(callDeps, request, { ...body, hosted });
          return await serveMcpContent(callDeps, { request, body, slot });
        }
        case 'hosted':
          return answerOf(
            boundedReply(await answerHosted(callDeps, body, request), operations.maxReplyBytes()),
          );
        case 'hosted_list':
          return answerOf(boundedReply(await answerHostedList(callDeps, body), operations.maxReplyBytes()));
        case 'ask_permission':
          return await calls.question(new Call({ request, ...callOfQuestion(body), slot }));
        case 'update_task':
          return await serveTaskRound(rounds, { request, body, slot });
        default: {
          const reply = body ? await answerOperation(operations, message.from, body) : { error: refusal };
          return answerOf(boundedReply(reply, operations.maxReplyBytes()));
        }
      }
    } finally {
      slot[Symbol.dispose]();
    }
  };
}

/**
 * Returns the refusal of a request for which there is no room. Its body is not parsed, and may say that another orchestrator has begun it
 * on a lane.
 */
function withoutRoom(
  { ownership }: CallDeps,
  { id, body = '' }: ServedRequest['message'],
  full: ToolCallError,
): ToolCallError {
  const epoch = /"maybe_started_in":"([^"]*)"/.exec(body)?.[1];
  return ownership.mayHaveStartedElsewhere(undefined, epoch) ? outcomeUnknown(id) : full;
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

function answerOf({ reply, text }: BoundedReply): ServeAnswer {
  return { kind: 'mcp_reply', body: reply, text };
}
