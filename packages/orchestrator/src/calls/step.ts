import type { handBack, Log } from '@signalbox/client';
import type { McpHost, ToolOrigin, ToolRoute } from '@signalbox/mcp-host';
import type { ToolCallResult } from '@signalbox/mcp-host/tool-calls';
import type { ExplainedStep, Tool } from '@signalbox/protocol';
import type { Fault } from '@signalbox/serving';
import type { Journal } from '@signalbox/store/journal';
import type { Approvals } from '../approvals/approvals.ts';
import type { AuditTrail } from '../audit/audit-trail.ts';
import type { BudgetLedger } from '../budgets/budget-ledger.ts';
import type { Catalog } from '../catalog/catalog.ts';
import type { CatalogTracker } from '../catalog/catalog-tracker.ts';
import type { CallSubject, HeldCalls } from '../holds/held-calls.ts';
import type { InboxOwnership } from '../journal/inbox-ownership.ts';
import type { CallMeter } from '../metrics/call-meter.ts';
import type { ResultStore } from '../results/result-store.ts';
import type { CallScheduler } from '../scheduling/call-scheduler.ts';
import type { Call } from './call.ts';
import type { readArguments } from './call-arguments.ts';
import type { CallRegistry } from './call-registry.ts';
import type { LargeSlices } from './large-slices.ts';

/** The dependencies of the steps of a call. */
export interface CallDeps {
  host: McpHost;
  scheduler: CallScheduler;
  catalogs: Pick<CatalogTracker, 'latest' | 'current'>;
  budgets: BudgetLedger;
  /** Makes calls wait for decisions; `undefined` without a journal. */
  approvals: Approvals | undefined;
  /** Makes calls wait while a hold is on them. */
  holds: HeldCalls;
  registry: CallRegistry;
  journal: Journal | undefined;
  /** Keeps large results; `undefined` if none are kept. */
  results: ResultStore | undefined;
  ownership: InboxOwnership;
  /** Returns the minting token that issued the token of an agent. Never rejects. */
  minterOf: (agent: string) => Promise<string | undefined>;
  /** Reads the arguments of large requests one after the other. */
  reading: LargeSlices;
  /** The slices of large replies: one is sent when the one before it is stored. */
  replies: LargeSlices;
  /** The longest reply that can be delivered, in bytes. */
  maxReplyBytes: () => number;
  /** The longest run of a call that sets no timeout of its own, in milliseconds. */
  callTimeoutMs: number;
  /** Counts the ended calls. */
  meter: Pick<CallMeter, 'ended'>;
  /** Reports how calls end to the audit log. */
  audit: Pick<AuditTrail, 'record'>;
  /** Epoch milliseconds. */
  now: () => number;
  /** Monotonic milliseconds. */
  monotonic: () => number;
  /** Called at every named point that a call passes; `undefined` if nothing fails on purpose. */
  fault: Fault | undefined;
  log: Log;
}

/** The way in which a call ended. `handBack` leaves it to the next orchestrator on this inbox. */
export type Ended = ToolCallResult | typeof handBack;

/** A call that may not start now because a hold is on it. */
export interface OnHold {
  onHold: CallSubject;
}

/** The way in which one attempt of a call ended. An attempt that meets a hold is made again after the release. */
export type Attempt = Ended | OnHold;

/** Makes a call pass a step and all steps after it. A step that does not wait is no async function, so that it costs a call no promise. */
export type Pass<Out> = (call: Call) => Out | Promise<Out>;

/** The question about which the steps say something: a call of a tool by a role. */
export interface Question {
  role: string;
  /** The name of the tool. */
  name: string;
  catalog: Catalog;
  /** The definition of the tool, also one that is withheld; `undefined` if there is no such tool. */
  tool: Tool | undefined;
  origin: ToolOrigin | undefined;
  route: ToolRoute;
  /** The arguments as the server would get them, or why they are refused; `undefined` if the question gives none. */
  read: ReturnType<typeof readArguments> | undefined;
  /**
   * Tells whether a call that was sent may be made again, and the rule that decides that. `unless_asked`: a call for which a person is asked
   * may not.
   */
  repeat: { repeat: 'safe' | 'unsafe' | 'unless_asked'; repeat_rule: string } | undefined;
}

/** The dependencies of explanations. */
export interface ExplainDeps
  extends Pick<CallDeps, 'host' | 'scheduler' | 'budgets' | 'approvals' | 'holds' | 'journal'> {
  /** `undefined` if no results are kept. */
  results: Pick<ResultStore, 'summary'> | undefined;
}

/** The answer of one step to a question. */
export type Saying = Omit<ExplainedStep, 'step'>;

/** A step as `tools explain` shows it. */
export interface Explained {
  name: string;
  /** Says what the step would do with a call now, by the same rules as for a real one. */
  explain(question: Question, deps: ExplainDeps): Saying;
}

/** One step of a call. It ends the call itself, or passes it on, and may change how it ends. */
export interface Step<Out, In = Out> extends Explained {
  /** Makes the step once, so that a call enters one function for each step. `next` are the steps after it. */
  before(next: Pass<In>, deps: CallDeps): Pass<Out>;
}

/** The last step of a call. */
export interface LastStep extends Explained {
  /** Makes the step once. */
  make(deps: CallDeps): Pass<Attempt>;
}

/** Puts steps before others: the first of them is passed first. */
export function inOrder<Out>(steps: readonly Step<Out>[], last: Pass<Out>, deps: CallDeps): Pass<Out> {
  return steps.reduceRight((next, step) => step.before(next, deps), last);
}
