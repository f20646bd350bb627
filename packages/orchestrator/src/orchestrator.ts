import type { BrokerClient, Log, ServeAnswer, ServedRequest } from '@signalbox/client';
import type { McpHost } from '@signalbox/mcp-host';
import { type Fault, type McpReply, messageOf, noFault, toolCallError } from '@signalbox/protocol';
import { BudgetLedger } from './budgets/budget-ledger.ts';
import type { CallBudgets } from './budgets/call-budgets.ts';
import { boundedReply } from './calls/bounded-reply.ts';
import { CallBook } from './calls/call-registry.ts';
import { parseRequest } from './calls/request-body.ts';
import { type CallDesk, serveCall } from './calls/served-call.ts';
import { retireStrays } from './calls/unexpected-messages.ts';
import type { MailboxRules } from './catalog/catalog.ts';
import { trackCatalog } from './catalog/catalog-tracker.ts';
import { inboxHistory } from './journal/inbox-ownership.ts';
import type { Journal } from './journal/journal.ts';
import { answerQuestion, type QuestionDesk } from './operator/operations.ts';
import { checkPolicy, type PolicyChanges } from './operator/policy.ts';
import type { RepeatLists } from './roles/repeat-lists.ts';
import { RoleToolAllowlist } from './roles/role-tool-allowlist.ts';
import { type CallLimits, defaultCallLimits, inboxWindow } from './scheduling/call-limits.ts';
import { createCallScheduler } from './scheduling/call-scheduler.ts';

const defaultCallTimeoutMs = 60_000;
const defaultDrainMs = 5000;

/** What an orchestrator is made of. */
export interface OrchestratorOptions {
  /** Connected as the orchestrator; stays the caller's to close. */
  client: BrokerClient;
  /** Stays the caller's to close. */
  host: McpHost;
  /** Default: every role may use every tool. */
  allowlist?: RoleToolAllowlist;
  /** Stays the caller's to close, after `host`. Without one, calls that were running in a crash run again after it. */
  journal?: Journal | undefined;
  /** What may be called again although it was called before, whatever the servers declare. */
  repeat?: RepeatLists;
  /** Which of the mailbox tools each role may see; default all. */
  mailbox?: MailboxRules;
  /** How often tools may be called; without them, as often as the limits on what runs at once allow. */
  budgets?: CallBudgets;
  concurrency?: Partial<CallLimits>;
  /** Bounds the run of a call that names no timeout of its own; default 60 s. */
  callTimeoutMs?: number;
  /** How long `stop` waits for what runs; default 5 s. */
  drainMs?: number;
  log?: Log;
  /** Told of every named point that a call passes. */
  fault?: Fault;
  /** Epoch milliseconds. */
  now?: () => number;
  /** Monotonic milliseconds, for queues and budgets. */
  monotonicNow?: () => number;
}

/** Serves `mcp_request` messages until it is stopped. */
export interface Orchestrator extends AsyncDisposable {
  /**
   * Takes no new requests, leaves those whose turn hasn't come to the next orchestrator on this inbox, and waits until
   * those that run are answered, at most `drainMs`.
   */
  stop(): Promise<void>;
  /**
   * Replaces what is given, all at once, for calls that start from now on, and tells the roles whose tools changed.
   * Throws `SignalboxError` `bad_config` before anything has changed.
   */
  setPolicy(changes: PolicyChanges): void;
  /** {@link setPolicy} with nothing but an allowlist. */
  setAllowlist(allowlist: RoleToolAllowlist): void;
  /** Requests that wait, run, or whose reply the broker has not confirmed yet. */
  readonly inFlight: number;
}

/**
 * Subscribes the client's inbox and answers manifest requests and tool calls, concurrently, each under the allowlist
 * of the role that the broker attests. Every request gets a reply; the orchestrator's own faults read `tool_panicked`.
 * Throws `SignalboxError` `bad_config` for budgets and limits that make no sense.
 */
export async function startOrchestrator(options: OrchestratorOptions): Promise<Orchestrator> {
  const { client, host, journal, budgets = {}, concurrency, log = () => {}, now = Date.now } = options;
  const { monotonicNow = () => performance.now() } = options;
  checkPolicy({ budgets, serverConcurrency: concurrency?.servers ?? {} });
  await using starting = new AsyncDisposableStack();
  const allowlist = options.allowlist ?? RoleToolAllowlist.unrestricted();
  const { repeat = {}, mailbox = {} } = options;
  const catalogs = trackCatalog(client, host, { allowlist, repeat, mailbox }, { log, now });
  starting.defer(catalogs.stop);
  const scheduler = createCallScheduler({ ...defaultCallLimits, ...concurrency }, monotonicNow);
  const ledger = new BudgetLedger(budgets, monotonicNow);
  const desk: CallDesk & QuestionDesk = {
    host,
    scheduler,
    catalogs,
    runner: {
      host,
      scheduler,
      catalog: () => catalogs.latest ?? catalogs.current(),
      budgets: ledger,
      callTimeoutMs: options.callTimeoutMs ?? defaultCallTimeoutMs,
    },
    book: new CallBook(now),
    journal,
    history: inboxHistory(client, journal, log),
    maxReplyBytes: () => client.welcome.limits.maxMessageBytes ?? Number.POSITIVE_INFINITY,
    now,
    fault: options.fault ?? noFault,
    log,
  };
  const loop = starting.use(
    await client.serve(['mcp_request'], (request) => answer(desk, request), {
      concurrency: inboxWindow.window,
      ...inboxWindow,
      ...desk.history.serveOptions,
      tellsStart: true,
      badBody: ({ message }) => ({
        kind: 'mcp_reply',
        body: { error: toolCallError('invalid_arguments', message, { mayHaveRun: false }) },
      }),
    }),
  );
  const strays = starting.use(await client.subscribe());
  void retireStrays(client, strays, log);
  starting.defer(scheduler.close);
  catalogs.current().catch((thrown) => log({ event: 'inventory_failed', reason: messageOf(thrown) }));

  const started = starting.move();
  let stopping: Promise<void> | undefined;
  const stop = () => {
    stopping ??= atMost(options.drainMs ?? defaultDrainMs, started.disposeAsync(), () =>
      log({ event: 'drain_gave_up', inFlight: loop.inFlight }),
    );
    return stopping;
  };
  const setPolicy = (changes: PolicyChanges) => {
    checkPolicy(changes);
    const { allowlist, repeat, mailbox, budgets, serverConcurrency } = changes;
    if (allowlist || repeat || mailbox) {
      catalogs.setPolicy({
        ...(allowlist && { allowlist }),
        ...(repeat && { repeat }),
        ...(mailbox && { mailbox }),
      });
    }
    if (budgets) ledger.setBudgets(budgets);
    if (serverConcurrency) scheduler.setServerLimits(serverConcurrency);
  };
  return {
    stop,
    setPolicy,
    setAllowlist: (allowlist) => setPolicy({ allowlist }),
    get inFlight() {
      return loop.inFlight;
    },
    [Symbol.asyncDispose]: stop,
  };
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

function answer(desk: CallDesk & QuestionDesk, served: ServedRequest): Promise<ServeAnswer> {
  const { request, refusal } = parseRequest(served.json);
  if (request?.op === 'call') return serveCall(desk, served, request);
  const replied: Promise<McpReply> = refusal
    ? Promise.resolve({ error: refusal })
    : answerQuestion(desk, served.message.from, request);
  return replied.then((reply) => ({
    kind: 'mcp_reply',
    body: boundedReply(reply, desk.maxReplyBytes()).reply,
  }));
}
