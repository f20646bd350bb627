import { type Approval, briefArgumentsLength, type StandingApproval } from '@signalbox/protocol';
import {
  type ApprovalEnd,
  type ApprovalRecord,
  type BoundCall,
  type Decider,
  type StandingRecord,
  unknownDefinition,
} from '@signalbox/store/journal';

/** An event that may end an approval. */
export type ApprovalEvent =
  | { kind: 'approve' | 'deny'; by: Decider; reason?: string | undefined }
  | { kind: 'expire'; requestIsOver?: true }
  | { kind: 'cancel' | 'supersede'; reason: string };

/**
 * Returns the end of an approval by an event at a time. `isDone` says whether the event had its own effect: a decision after the deadline
 * only ends the approval as expired. Returns `undefined` if nothing changes: a record that has ended stays as it is, and none expires
 * before its deadline unless its request is over.
 */
export function endBy(
  { end, deadlineAt }: Pick<ApprovalRecord, 'end' | 'deadlineAt'>,
  event: ApprovalEvent,
  now: number,
): { end: ApprovalEnd; isDone: boolean } | undefined {
  if (end) return undefined;
  switch (event.kind) {
    case 'expire':
      if (now < deadlineAt && !event.requestIsOver) return undefined;
      return { end: { state: 'expired', endedAt: now }, isDone: true };
    case 'cancel':
      return { end: { state: 'cancelled', endedAt: now, reason: event.reason }, isDone: true };
    case 'supersede':
      return { end: { state: 'superseded', endedAt: now, reason: event.reason }, isDone: true };
    default: {
      if (now >= deadlineAt) return { end: { state: 'expired', endedAt: now }, isDone: false };
      const state = event.kind === 'approve' ? 'approved' : 'denied';
      const reason = event.reason === undefined ? {} : { reason: event.reason };
      return { end: { state, endedAt: now, by: event.by, ...reason }, isDone: true };
    }
  }
}

/** Binds an approval to a definition, and to the host of its server if that is not this orchestrator. */
export function boundDefinition(hash: string, host: string | undefined): string {
  return host === undefined ? hash : `${hash}@${host}`;
}

/** Returns the host in what an approval is bound to. A hash has no `@`. */
function hostIn(definitionHash: string): string | undefined {
  return definitionHash.split('@')[1];
}

/** Describes how a call differs from the one that an approval applies to; `undefined` if it is the same. */
export function differenceFrom(
  bound: BoundCall,
  call: Omit<BoundCall, 'definitionHash'> & { definitionHash: string | undefined },
): string | undefined {
  if (bound.agent !== call.agent || bound.requestId !== call.requestId) return 'it is another call';
  if (bound.role !== call.role) return `its role was '${bound.role}' and is '${call.role}'`;
  if (bound.tool !== call.tool) return `its tool was '${bound.tool}' and is '${call.tool}'`;
  // While the tool's server is away, the definition of the tool is unknown.
  const isChanged = call.definitionHash !== undefined && bound.definitionHash !== call.definitionHash;
  if (isChanged && hostIn(bound.definitionHash) !== hostIn(call.definitionHash ?? ''))
    return `the server of '${bound.tool}' moved to another host`;
  // It comes first, since another definition may rewrite the same arguments in another way.
  if (isChanged) return `the definition of '${bound.tool}' changed`;
  if (bound.argumentsHash !== call.argumentsHash) return 'its arguments changed';
  return bound.metaHash === call.metaHash ? undefined : "its '_meta' changed";
}

/**
 * Tells whether two calls are the same except for their requests and for the data that their servers get beside the arguments: clients put
 * another id there for each call.
 */
export function isSameCall(one: BoundCall, other: BoundCall): boolean {
  return (
    one.role === other.role &&
    one.tool === other.tool &&
    one.definitionHash === other.definitionHash &&
    one.argumentsHash === other.argumentsHash
  );
}

/** The rule of a question that no standing approval answers: its agent did not tell with which arguments it would use its tool. */
export const oneUseRule = 'worker --permissions ask, for one use: its arguments are not told';

/** Tells whether an approval is about a question of an agent's CLI, and not about a tool call. */
export function isQuestion({ definitionHash }: Pick<BoundCall, 'definitionHash'>): boolean {
  return definitionHash === unknownDefinition;
}

/** What became of the caller of an approval: when it was found to wait no longer, and until when the approval is kept for its next call. */
export interface CallerLeft {
  leftAt?: number | undefined;
  keptUntil?: number | undefined;
}

/**
 * Returns an approval in the form in which it is shown. Those who may not see the arguments do not get them. If it is `brief`, only their
 * beginning is shown.
 */
export function shownApproval(
  record: ApprovalRecord,
  {
    withArguments,
    brief = false,
    leftAt,
    keptUntil,
  }: { withArguments: boolean; brief?: boolean } & CallerLeft,
): Approval {
  const { end, meta, hidden } = record;
  const host = hostIn(record.definitionHash);
  const longest = Math.max(record.arguments.length, meta?.length ?? 0);
  const isCut = brief && longest > briefArgumentsLength;
  const beginningOf = (text: string): string => (brief ? text.slice(0, briefArgumentsLength) : text);
  return {
    id: record.id,
    state: end?.state ?? 'pending',
    request_id: record.requestId,
    agent: record.agent,
    role: record.role,
    ...(record.server !== undefined && { server: record.server }),
    ...(host !== undefined && { host }),
    tool: record.tool,
    ...(withArguments && {
      arguments: beginningOf(record.arguments),
      ...(meta !== undefined && { meta: beginningOf(meta) }),
      ...(isCut && { arguments_cut: true as const }),
      ...(hidden > 0 && { hidden }),
    }),
    arguments_hash: record.argumentsHash,
    definition_hash: record.definitionHash,
    rule: record.rule,
    created_at: record.createdAt,
    deadline_at: record.deadlineAt,
    ...(leftAt !== undefined && { left_at: leftAt }),
    ...(keptUntil !== undefined && { kept_until: keptUntil }),
    ...(end && {
      ended_at: end.endedAt,
      ...(end.by && { by: shownDecider(end.by) }),
      ...(end.reason !== undefined && { reason: end.reason }),
    }),
  };
}

/** Returns a standing approval in the form in which it is shown. */
export function shownStanding(record: StandingRecord): StandingApproval {
  const { id, agent, role, tool, createdAt, until, by, reason } = record;
  const times = { created_at: createdAt, until };
  return { id, agent, role, tool, ...times, by: shownDecider(by), ...(reason !== undefined && { reason }) };
}

function shownDecider({ tokenId, agent, standing }: Decider): NonNullable<Approval['by']> {
  return { token_id: tokenId, agent, ...(standing !== undefined && { standing }) };
}

/** Letters and digits that people do not confuse. */
const alphabet = '23456789abcdefghjkmnpqrstvwxyz';
const idLength = 6;

/** Makes an id that people can read out and type. `random` returns whole numbers below its argument. */
export function newApprovalId(random: (below: number) => number): string {
  return Array.from({ length: idLength }, () => alphabet[random(alphabet.length)]).join('');
}
