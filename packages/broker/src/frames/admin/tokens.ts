import { rolePattern } from '@signalbox/protocol';
import type { TokenRecord } from '@signalbox/store';
import { refuseChild, refuseToken, type TokenRequest } from '../../auth/token-rules.ts';
import { auditCaller, type Caller } from '../caller.ts';
import type { FrameDeps } from '../frame-deps.ts';
import type { AdminRefusal, OperationResult, Params } from './operation.ts';
import { badParam } from './params.ts';
import { readWorkerExit, tellWorkerExit, type WorkerExit, type WorkerExitDeps } from './worker-exit.ts';

type RevokeDeps = WorkerExitDeps & Pick<FrameDeps, 'tokens' | 'connected' | 'audit' | 'log'>;

const revokedToken = 'the token of this connection was revoked';

/** Runs `token_issue`: issues a token. A caller with a minting token issues child tokens. */
export async function issueToken(
  params: Params,
  deps: Pick<FrameDeps, 'tokens' | 'audit' | 'now'>,
  caller: Caller,
): OperationResult {
  const read = readTokenRequest(params);
  if ('refusal' in read) return read;
  const { request } = read;
  const parent = caller.mintsOnly ? caller.token : undefined;
  const refusal = refuseToken(request) ?? (parent && refuseChild(parent, request, deps.now()));
  if (refusal) return { refusal };
  const { record, token } = await deps.tokens.issue(request, parent);
  const detail = `token ${record.id} for '${record.agent}' with role '${record.role}'`;
  auditCaller(caller, 'token_issued', detail, deps);
  const { id, agent, role, expiresAt } = record;
  return { result: { id, agent, role, ...(expiresAt !== undefined && { expires_at: expiresAt }), token } };
}

function readTokenRequest(params: Params): { request: TokenRequest } | AdminRefusal {
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

/** Runs `token_list`: returns every token without its secret. */
export async function listTokens(_params: Params, { tokens }: Pick<FrameDeps, 'tokens'>): OperationResult {
  return { result: { tokens: tokens.list().map(describeToken) } };
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

/** Runs `token_revoke`: revokes a token and its child tokens, ends their connections and gives up their requests. */
export async function revokeToken(params: Params, deps: RevokeDeps, caller: Caller): OperationResult {
  const { id, exited } = params;
  if (typeof id !== 'string') return badParam('id', "a token's id");
  const record = deps.tokens.get(id);
  if (!record || (caller.mintsOnly && record.parentId !== caller.token.id)) {
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
  // The exit is told before the token is removed. If the broker dies in between, the caller can revoke again.
  const told = read && (await endWorker(record, read.exit, deps));
  const gone = new Set(await deps.tokens.revoke(id));
  auditCaller(caller, 'token_revoked', `token ${id} of '${record.agent}'`, deps);
  deps.connected.endWhere(({ token }) => gone.has(token.id), revokedToken);
  for (const tokenId of gone) {
    await deps.delivery.cancellations.cancelSentWith(tokenId, 'the token it was sent with was revoked');
  }
  return { result: { id, revoked: true, ...told } };
}

/** Ends the worker's connections and tells of its exit. If that fails, it is logged and the revocation goes on. */
async function endWorker(
  record: TokenRecord,
  exit: WorkerExit,
  deps: RevokeDeps,
): ReturnType<typeof tellWorkerExit> {
  deps.connected.endWhere(({ token }) => token.id === record.id, revokedToken);
  try {
    return await tellWorkerExit(record, exit, deps);
  } catch (error) {
    deps.log({ level: 'error', event: 'worker_exit_not_told', agent: record.agent, error });
    return { told: false, held_ids: [] };
  }
}
