import {
  type AdminFrame,
  type AdminOp,
  type AdminParams,
  type AuditEventCode,
  adminOperations,
  isAdminOp,
  operationPermissions,
  parseAdminParams,
} from '@signalbox/protocol';
import { listPermissions } from '@signalbox/protocol/internal';
import { auditCaller, type Caller, mayDo } from '../caller.ts';
import type { FrameDeps } from '../frame-deps.ts';
import type { Outcome, Refusal } from '../outcome.ts';
import { beginBackup, finishBackup, waitForBackup } from './backups.ts';
import { acceptClock, showClock } from './clock.ts';
import { dropDead, listDead, retryDead, showDead, stopWork } from './dead-letters.ts';
import { listHolds, placeHold, releaseHolds } from './holds.ts';
import { listHooks } from './hooks.ts';
import type { Operation, OperationOutcome } from './operation.ts';
import { audit, auditChain, failures, history, readSamples, stats, waiting } from './reports.ts';
import { listSchedules } from './schedules.ts';
import { signInLink } from './sign-in.ts';
import { tail } from './tail.ts';
import { forgetThread, listThreads, readTexts, readThread } from './threads.ts';
import { issueToken, listTokens, revokeAgentTokens, revokeToken } from './tokens.ts';

const operations: { [Op in AdminOp]: Operation<Op> } = {
  token_issue: issueToken,
  token_list: listTokens,
  token_revoke: revokeToken,
  token_revoke_agent: revokeAgentTokens,
  dead_list: listDead,
  dead_show: showDead,
  dead_retry: retryDead,
  dead_drop: dropDead,
  stop_work: stopWork,
  history,
  threads: listThreads,
  thread: readThread,
  texts: readTexts,
  thread_forget: forgetThread,
  audit,
  audit_chain: auditChain,
  waiting,
  failures,
  stats,
  samples: readSamples,
  hooks: listHooks,
  schedules: listSchedules,
  sign_in_link: signInLink,
  tail,
  clock: showClock,
  clock_accept: acceptClock,
  backup_begin: beginBackup,
  backup_wait: waitForBackup,
  backup_finish: finishBackup,
  hold: placeHold,
  release: releaseHolds,
  holds: listHolds,
};

/** The operations that read data of others, with their code in the audit log. Operations that change something record it themselves. */
const reads: { [Op in AdminOp]?: (params: AdminParams<Op>) => ReadEvent } = {
  token_list: () => ({ code: 'tokens_listed', detail: 'all tokens' }),
  dead_list: ({ inbox }) => ({ code: 'dead_letters_listed', detail: about(inbox), name: inbox }),
  dead_show: ({ seq }) => ({ code: 'dead_letter_read', detail: `sequence number ${seq}`, name: String(seq) }),
  history: ({ agent }) => ({ code: 'history_read', detail: about(agent), name: agent }),
  threads: ({ agent, search }) => ({
    code: 'threads_read',
    detail: search === undefined ? about(agent) : `by words, ${about(agent)}`,
    name: search === undefined ? agent : 'search',
  }),
  thread: ({ thread }) => ({ code: 'threads_read', detail: 'one thread', name: thread }),
  texts: () => ({ code: 'threads_read', detail: 'beginnings of texts', name: 'texts' }),
  audit: () => ({ code: 'audit_read', detail: 'entries by time' }),
  audit_chain: ({ kind }) => ({ code: 'audit_read', detail: `the chain of kind '${kind}'` }),
  tail: ({ on, agent }) => ({
    code: 'tail_followed',
    detail: `${on ? 'began' : 'ended'}: ${about(agent)}`,
    name: agent,
  }),
};

interface ReadEvent {
  code: AuditEventCode;
  detail: string;
  name?: string | undefined;
}

function about(agent: string | undefined): string {
  return agent === undefined ? 'of all agents' : `of '${agent}'`;
}

/** Handles `admin`: runs an operation for a caller whose token has the permission. */
export async function admin(frame: AdminFrame, caller: Caller, deps: FrameDeps): Promise<Outcome> {
  const { op, params = {}, request_id } = frame;
  // It has reported these rows itself, and counts the calls of an earlier process by them.
  const readsOwn = op === 'audit' && caller.sender.role === 'orchestrator';
  if (caller.token.permissions.length === 0 && !readsOwn)
    return refuse(
      'forbidden',
      `this needs a token of an operator, and yours has the role '${caller.sender.role}'`,
    );
  if (!isAdminOp(op)) {
    const known = Object.keys(adminOperations()).join(', ');
    return refuse('unknown_op', `unknown operation '${op}'; known: ${known}`);
  }
  const needs = operationPermissions.admin[op];
  if (!readsOwn && !mayDo(caller, needs)) {
    const has = listPermissions(caller.token.permissions);
    const message = `this needs a token with the permission ${listPermissions(needs)}, and yours has: ${has}`;
    return refuse('forbidden', message);
  }
  const outcome = await run(op, params, caller, deps);
  if ('refusal' in outcome) return outcome;
  // The audit log has a change before the caller hears of it.
  await deps.audit.changesWritten();
  return { answer: { type: 'admin_result', request_id, result: outcome.result } };
}

async function run<Op extends AdminOp>(
  op: Op,
  params: Record<string, unknown>,
  caller: Caller,
  deps: FrameDeps,
): OperationOutcome<Op> {
  const parsed = parseAdminParams(op, params);
  if (parsed.refusal) return { refusal: parsed.refusal };
  const operation: Operation<Op> = operations[op];
  // The changes of operations that another broker has answered are also in force here.
  await deps.others.follow();
  if (!deps.tokens.isLive(caller.token))
    return {
      refusal: { code: 'unauthorized', message: 'the token of this connection was revoked, or has expired' },
    };
  const outcome = await operation(parsed.params, deps, caller);
  const read = reads[op]?.(parsed.params);
  if (read && !('refusal' in outcome)) auditCaller(caller, read.code, read, deps);
  return outcome;
}

function refuse(code: Refusal['code'], message: string): Outcome {
  return { refusal: { code, message, field: 'op' } };
}
