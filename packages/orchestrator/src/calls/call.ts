import type { ServedRequest } from '@signalbox/client';
import type { McpHost, ToolOrigin, ToolRoute } from '@signalbox/mcp-host';
import type { CallOptions, ToolCallResult } from '@signalbox/mcp-host/tool-calls';
import type { CallRequest, Tool } from '@signalbox/protocol';
import type { ApprovalRecord } from '@signalbox/store/journal';
import type { Catalog } from '../catalog/catalog.ts';
import type { CallSubject } from '../holds/held-calls.ts';
import type { JournaledCall } from '../journal/journaled-call.ts';
import type { TaskRound } from '../tasks/task-call.ts';
import type { ReadArguments } from './call-arguments.ts';
import type { CallSlot } from './call-room.ts';
import type { Moment } from './leapt-deadline.ts';
import type { CallName, TrackedCall } from './tracked-call.ts';

/** The subject of a permission question: the agent's CLI, in place of a server, and the tool that the question is about. */
export interface QuestionOrigin extends ToolOrigin {
  /** True if no standing approval answers it. */
  once?: boolean | undefined;
  /** The request of an earlier question that it replaces. */
  replaces?: string | undefined;
}

/** A call as it arrives. */
export interface IncomingCall {
  request: ServedRequest;
  body: CallRequest;
  slot: CallSlot;
  /** Set if the call is a permission question. */
  question?: QuestionOrigin | undefined;
  /** Set if the call is a later round of a task. */
  taskRound?: TaskRound | undefined;
}

/** One call on its way through the steps. A field below the first group is written by the step that its comment names. */
export class Call {
  readonly request: ServedRequest;
  readonly body: CallRequest;
  readonly slot: CallSlot;
  readonly name: CallName;
  readonly question: QuestionOrigin | undefined;
  readonly taskRound: TaskRound | undefined;

  /** Repeated reply: the time of its arrival. */
  arrived!: Moment;
  /** Repeated reply: the call in the journal; `undefined` without a journal. */
  journaled: JournaledCall | undefined;
  /** Repeated reply: true if an orchestrator with another journal may have started it. */
  isForeign = false;
  /** Kept result, lost call and record: its end, if that is known without a run. */
  known: ToolCallResult | undefined;

  /** Record: its state, as operators and its agent see it. */
  tracked!: TrackedCall;

  /** Lost call and hold: the approval that it waited for before, in another process or before a hold. */
  asked: ApprovalRecord | undefined;

  /** Allowlist, and recheck if it has changed: the catalog by which the call is judged. */
  catalog!: Catalog;
  /** Allowlist and recheck: its tool. Absent only if its server is away and the call waited for a decision before. */
  tool: Tool | undefined;
  /** Allowlist and recheck: the server and the tool there. */
  route!: ToolRoute;
  /** Allowlist and recheck: the name of that server. */
  server: string | undefined;
  /** Allowlist: true if it continues a call that runs at its server. */
  isContinued = false;
  /** Allowlist: true if it waited for a decision before, so that it is compared with what was asked about. */
  isCompared = false;

  /** Arguments and recheck: its arguments as the server gets them. */
  read!: ReadArguments;

  /** Approval: the approval with which it may run. */
  approval: ApprovalRecord | undefined;
  /** Approval: true if it may only continue a running call, and not begin another. */
  onlyContinues = false;

  /** Budget: takes the call out of its budgets again. */
  takeBack!: () => void;

  /** Recheck: the subject by which holds find it. */
  subject!: CallSubject;

  /** Journal: true if it may be made again after it was sent. */
  isRepeatable = false;
  /** Journal: the work right before it is sent. */
  beforeSend: CallOptions['beforeSend'];

  constructor({ request, body, slot, question, taskRound }: IncomingCall) {
    const { id, from, thread } = request.message;
    this.request = request;
    this.body = body;
    this.slot = slot;
    this.name = { agent: from.agent, requestId: id, role: from.role, tool: body.tool, thread };
    this.question = question;
    this.taskRound = taskRound;
  }
}

/** Returns the subject by which holds find a call. The catalog says from which server its tool comes. */
export function subjectOf({ name, question }: Call, { inventory }: Catalog): CallSubject {
  const { agent, role, tool } = name;
  return { agent, role, tool, origin: question ?? inventory.origins.get(tool) };
}

/** Tells whether a call is the next round of one that runs on at its server. */
export function continuesRunning(host: Pick<McpHost, 'waitsFor'>, { body, name }: Call): boolean {
  const state = body.round?.request_state;
  return state !== undefined && host.waitsFor(state, name.agent);
}
