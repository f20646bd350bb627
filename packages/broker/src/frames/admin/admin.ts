import {
  type AdminFrame,
  type AdminOp,
  adminOperations,
  isAdminOp,
  parseAdminParams,
} from '@signalbox/protocol';
import type { Caller } from '../caller.ts';
import type { FrameDeps } from '../frame-deps.ts';
import type { Outcome, Refusal } from '../outcome.ts';
import { beginBackup, finishBackup, waitForBackup } from './backups.ts';
import { acceptClock, showClock } from './clock.ts';
import { dropDead, listDead, retryDead, showDead } from './dead-letters.ts';
import type { Operation, OperationOutcome } from './operation.ts';
import { audit, history, stats } from './reports.ts';
import { tail } from './tail.ts';
import { issueToken, listTokens, revokeToken } from './tokens.ts';

const operations: { [Op in AdminOp]: Operation<Op> } = {
  token_issue: issueToken,
  token_list: listTokens,
  token_revoke: revokeToken,
  dead_list: listDead,
  dead_show: showDead,
  dead_retry: retryDead,
  dead_drop: dropDead,
  history,
  audit,
  stats,
  tail,
  clock: showClock,
  clock_accept: acceptClock,
  backup_begin: beginBackup,
  backup_wait: waitForBackup,
  backup_finish: finishBackup,
};

/** Handles `admin`: runs an operation for the operator. A caller with a minting token may issue and revoke its own child tokens. */
export async function admin(frame: AdminFrame, caller: Caller, deps: FrameDeps): Promise<Outcome> {
  const { op, params = {}, request_id } = frame;
  if (!caller.isOperator && !caller.mintsOnly)
    return refuse('forbidden', `'${op}' needs the operator's token`);
  if (!isAdminOp(op)) {
    const known = Object.keys(adminOperations()).join(', ');
    return refuse('unknown_op', `unknown operation '${op}'; known: ${known}`);
  }
  if (!caller.isOperator && !adminOperations()[op].minting) {
    return refuse('forbidden', `a minting token may not '${op}'`);
  }
  const outcome = await run(op, params, caller, deps);
  if ('refusal' in outcome) return outcome;
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
  return await operation(parsed.params, deps, caller);
}

function refuse(code: Refusal['code'], message: string): Outcome {
  return { refusal: { code, message, field: 'op' } };
}
