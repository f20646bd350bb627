import {
  type ApprovalsReply,
  type ApprovalsRequest,
  briefArgumentsLength,
  type DecideReply,
  type DecideRequest,
  isPermitted,
  type McpReply,
  type RevokeStandingRequest,
  type Sender,
  toolCallError,
} from '@signalbox/protocol';
import type { ApprovalRecord, Decider, StandingRecord } from '@signalbox/store/journal';
import { oneUseRule, shownApproval, shownStanding } from '../approvals/approval-record.ts';
import type { Approvals } from '../approvals/approvals.ts';
import { permissionsOf, refusalToDecide, seesRole } from '../approvals/deciders.ts';

const defaultLimit = 100;
/** The most bytes of arguments on one page. */
const maxPageBytes = 1024 * 1024;
const maxStanding = 256;
const readAtOnce = 100;

/** The dependencies of the operations on approvals. */
export interface ApprovalOperationDeps {
  /** `undefined` without a journal: then no call waits for a decision. */
  approvals: Approvals | undefined;
  newApprovalId: () => string;
  /** Epoch milliseconds. */
  now: () => number;
}

/** Lists approvals, newest first: the waiting ones, or also the ended ones. An approver is shown those of its roles. */
export async function answerApprovals(
  { approvals }: ApprovalOperationDeps,
  asker: Sender,
  { id, all = false, cursor, limit = defaultLimit, brief = false }: ApprovalsRequest,
): Promise<McpReply> {
  const withArguments = isPermitted(['operator', 'approver'], permissionsOf(asker));
  const isShown = ({ role }: ApprovalRecord): boolean => seesRole(asker, role);
  const shown = (record: ApprovalRecord) =>
    shownApproval(record, { withArguments, brief, ...approvals?.callerLeft(record.id) });
  if (id !== undefined) {
    const record = await approvals?.find(id);
    if (!record || !isShown(record)) return unknownApproval(id);
    return { data: { approvals: [shown(record)] } satisfies ApprovalsReply };
  }
  const listed: ApprovalRecord[] = [];
  let bytes = 0;
  let behind: string | undefined;
  for await (const { record, key } of all
    ? everyRecord(approvals, cursor)
    : pendingRecords(approvals, cursor)) {
    if (listed.length === limit || bytes > maxPageBytes)
      return { data: { approvals: listed.map(shown), cursor: behind } satisfies ApprovalsReply };
    behind = key;
    if (!isShown(record)) continue;
    listed.push(record);
    const lengths = [record.arguments.length, record.meta?.length ?? 0];
    for (const length of lengths) bytes += brief ? Math.min(briefArgumentsLength, length) : length;
  }
  return { data: { approvals: listed.map(shown) } satisfies ApprovalsReply };
}

/** An approval with the cursor of the next page after it. */
interface KeyedRecord {
  record: ApprovalRecord;
  key: string;
}

function* pendingRecords(
  approvals: Approvals | undefined,
  cursor: string | undefined,
): Generator<KeyedRecord> {
  const keyed = (approvals?.pending() ?? []).map((record) => {
    return { record, key: `${String(record.createdAt).padStart(15, '0')}-${record.id}` };
  });
  keyed.sort((a, b) => (a.key < b.key ? 1 : -1));
  for (const one of keyed) if (cursor === undefined || one.key < cursor) yield one;
}

async function* everyRecord(
  approvals: Approvals | undefined,
  cursor: string | undefined,
): AsyncGenerator<KeyedRecord> {
  let before = cursor === undefined ? undefined : Number(cursor) || 0;
  while (approvals) {
    const page = await approvals.list({ before, limit: readAtOnce });
    for (const { record, number } of page) yield { record, key: String(number) };
    if (page.length < readAtOnce) return;
    before = page.at(-1)!.number;
  }
}

/** Lists the standing approvals in force. An approver is shown those of its roles. */
export async function answerStandingApprovals(
  { approvals }: ApprovalOperationDeps,
  asker: Sender,
): Promise<McpReply> {
  await approvals?.endOrphaned();
  const standing = approvals?.standing() ?? [];
  return { data: { standing: standing.filter(({ role }) => seesRole(asker, role)).map(shownStanding) } };
}

/** Applies the decision of an asker on a waiting call. */
export async function answerDecide(
  { approvals, newApprovalId, now }: ApprovalOperationDeps,
  asker: Sender,
  { id, verdict, reason, for_ms: forMs }: DecideRequest,
): Promise<McpReply> {
  const record = await approvals?.find(id);
  if (!approvals || !record) return unknownApproval(id);
  const refusal = refusalToDecide(asker, record);
  if (refusal !== undefined || !asker.token) return refused('permission_denied', refusal ?? '');
  if (verdict === 'deny' && reason === undefined)
    return refused('invalid_arguments', "field 'reason': a denial needs one, which its caller is told");
  if (verdict === 'deny' && forMs !== undefined)
    return refused('invalid_arguments', "field 'for_ms': it goes with an approval only");
  if (forMs !== undefined && record.rule === oneUseRule)
    return refused(
      'invalid_arguments',
      "field 'for_ms': the agent did not tell the arguments of this use, so that an approval holds for it alone",
    );
  const by: Decider = { tokenId: asker.token.id, agent: asker.agent };
  const why = reason === undefined ? {} : { reason };
  const at = now();
  const standing: StandingRecord | undefined =
    forMs === undefined
      ? undefined
      : {
          id: newApprovalId(),
          agent: record.agent,
          role: record.role,
          tool: record.tool,
          definitionHash: record.definitionHash,
          createdAt: at,
          until: at + forMs,
          // It ends with the token of the person, and not with a sign-in of a browser.
          by: { ...by, tokenId: asker.token.sign_in_of ?? asker.token.id },
          ...why,
        };
  if (standing && approvals.standing().length >= maxStanding)
    return refused(
      'quota_exceeded',
      `${maxStanding} standing approvals are in force, the most that may be; revoke one`,
    );
  const decided = await approvals.decide(id, { kind: verdict, by, ...why }, standing);
  if (!decided) return unknownApproval(id);
  const data: DecideReply = {
    decided: decided.isDone,
    approval: shownApproval(decided.record, { withArguments: true, ...approvals.callerLeft(id) }),
    ...(decided.isDone && standing && { standing: shownStanding(standing) }),
  };
  return { data };
}

/** Ends a standing approval. */
export async function answerRevokeStanding(
  { approvals }: ApprovalOperationDeps,
  asker: Sender,
  { id }: RevokeStandingRequest,
): Promise<McpReply> {
  const standing = approvals?.standing().find((one) => one.id === id);
  if (!approvals || !standing || !seesRole(asker, standing.role)) {
    return refused(
      'not_found',
      `there is no standing approval '${id}' in force; signalbox approvals standing lists them`,
    );
  }
  // An approver may revoke what others decided for an agent on whose calls it may not decide.
  await approvals.revokeStanding(id, asker);
  return { data: { revoked: shownStanding(standing) } };
}

function unknownApproval(id: string): McpReply {
  return refused(
    'not_found',
    `there is no approval '${id}' that you may see; signalbox approvals lists those that wait`,
  );
}

function refused(
  code: 'invalid_arguments' | 'not_found' | 'permission_denied' | 'quota_exceeded',
  message: string,
): McpReply {
  return { error: toolCallError(code, message, { mayHaveRun: false }) };
}
