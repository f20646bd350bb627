import { rolePattern } from '@signalbox/protocol';
import type { TokenRecord } from '@signalbox/store';
import { refuseChild, refuseToken, type TokenRequest } from '../../auth/token-rules.ts';
import type { SessionContext } from '../context.ts';
import type { AdminRefusal, Operation } from './operation.ts';
import { badParam } from './params.ts';
import { readWorkerExit, tellWorkerExit, type WorkerExit } from './worker-exit.ts';

const revokedToken = 'the token of this connection was revoked';

export async function issueToken(
  ...[session, context, params]: Parameters<Operation>
): ReturnType<Operation> {
  const read = readTokenRequest(params);
  if ('refusal' in read) return read;
  const { request } = read;
  const refusal =
    refuseToken(request) ??
    (session.mintsOnly ? refuseChild(session.token, request, context.now()) : undefined);
  if (refusal) return { refusal };
  const { record, token } = await context.tokens.issue(
    request,
    session.mintsOnly ? session.token : undefined,
  );
  session.audit('token_issued', `token ${record.id} for '${record.agent}' with role '${record.role}'`);
  const { id, agent, role, expiresAt } = record;
  return { result: { id, agent, role, ...(expiresAt !== undefined && { expires_at: expiresAt }), token } };
}

function readTokenRequest(params: Record<string, unknown>): { request: TokenRequest } | AdminRefusal {
  const { agent, role, ttl_ms: ttlMs } = params;
  if (typeof agent !== 'string') return badParam('agent', 'an agent id');
  if (typeof role !== 'string' || !rolePattern.test(role)) {
    return badParam('role', 'a role: [a-z0-9][a-z0-9_.-]*');
  }
  if (ttlMs !== undefined && !(Number.isSafeInteger(ttlMs) && (ttlMs as number) > 0)) {
    return badParam('ttl_ms', 'a whole number of milliseconds above 0');
  }
  return { request: { agent, role, ...(ttlMs !== undefined && { ttlMs: ttlMs as number }) } };
}

export async function listTokens(...[, context]: Parameters<Operation>): ReturnType<Operation> {
  return { result: { tokens: context.tokens.list().map(describeToken) } };
}

function describeToken(record: TokenRecord): Record<string, unknown> {
  const { id, agent, role, permissions, createdAt, expiresAt, parentId } = record;
  return {
    id,
    agent,
    role,
    permissions,
    created_at: createdAt,
    ...(expiresAt !== undefined && { expires_at: expiresAt }),
    ...(parentId !== undefined && { parent_id: parentId }),
  };
}

export async function revokeToken(
  ...[session, context, params]: Parameters<Operation>
): ReturnType<Operation> {
  const { id, exited } = params;
  if (typeof id !== 'string') return badParam('id', "a token's id");
  const record = context.tokens.get(id);
  if (!record || (session.mintsOnly && record.parentId !== session.token.id)) {
    return {
      refusal: {
        code: 'unknown_token',
        field: 'params.id',
        message: `no token has the id '${id}'; 'token list' shows them`,
      },
    };
  }
  const read = exited === undefined ? undefined : readWorkerExit(exited, record);
  if (read && 'refusal' in read) return read;
  // Told before the token is gone: a caller that hears nothing of a broker that dies in between can ask again.
  const told = read && (await tellEnd(context, record, read.exit));
  const gone = new Set(await context.tokens.revoke(id));
  session.audit('token_revoked', `token ${id} of '${record.agent}'`);
  context.sessions.endWhere((other) => gone.has(other.token.id), revokedToken);
  for (const tokenId of gone)
    await context.delivery.cancellations.forbid(tokenId, 'the token it was sent with was revoked');
  return { result: { id, revoked: true, ...told } };
}

/** Never in the way of the revocation: what can't be told is logged. */
async function tellEnd(
  context: SessionContext,
  record: TokenRecord,
  exit: WorkerExit,
): ReturnType<typeof tellWorkerExit> {
  context.sessions.endWhere((other) => other.token.id === record.id, revokedToken);
  try {
    return await tellWorkerExit(context, record, exit);
  } catch (error) {
    context.log({ level: 'error', event: 'worker_exit_not_told', agent: record.agent, error });
    return { told: false, held_ids: [] };
  }
}
