import { type AdminParams, type AdminResult, furtherCosts, isMintingPattern } from '@signalbox/protocol';
import { suggestion } from '@signalbox/protocol/internal';
import type { TokenRecord } from '@signalbox/store';
import { judgeIssue } from '../../auth/issuing-rules.ts';
import { type Caller, callerEvent } from '../caller.ts';
import type { FrameDeps } from '../frame-deps.ts';
import type { OperationOutcome } from './operation.ts';
import { removeToken, revokedToken } from './remove-token.ts';
import { tellWorkerExit, type WorkerExit, type WorkerExitDeps } from './worker-exit.ts';

type RevokeDeps = WorkerExitDeps & Pick<FrameDeps, 'tokens' | 'connected' | 'audit' | 'log'>;

const auditFull = {
  code: 'storage_full',
  message:
    'the audit log of changes is full, so that this token could not be recorded; the operator exports it, stops the broker and moves audit.db away',
} as const;

/** Runs `token_issue`: issues a token. A caller with a minting token issues child tokens. */
export async function issueToken(
  params: AdminParams<'token_issue'>,
  deps: Pick<FrameDeps, 'tokens' | 'minting' | 'audit' | 'now' | 'monotonic'>,
  caller: Caller,
): OperationOutcome<'token_issue'> {
  const { ttl_ms: ttlMs, read_bodies: readsBodies, roles, approves, ...wanted } = params;
  const request = {
    ...wanted,
    ...(roles && { roles }),
    ...(approves && { approves }),
    ...(readsBodies && { readsBodies }),
    ...(ttlMs !== undefined && { ttlMs }),
  };
  const judged = judgeIssue(caller.token, request, {
    mints: caller.mintsOnly,
    tokens: deps.tokens,
    now: deps.now(),
  });
  if ('refusal' in judged) return judged;
  const minter = caller.mintsOnly ? caller.token : undefined;
  if (minter && deps.audit.usedPart('change') >= 1) return { refusal: auditFull };
  const full = minter && deps.minting.take(minter, deps.monotonic());
  if (full) {
    const { code, message, retryAfterMs } = full;
    return { refusal: { code, message }, ...(retryAfterMs !== undefined && { retryAfterMs }) };
  }
  caller.budget.spendFrames(furtherCosts.tokenChange);
  const eventOf = (record: TokenRecord) =>
    callerEvent(caller, 'token_issued', describeIssued(record), deps.now());
  const issued = await deps.tokens.issue(request, eventOf, judged.origin);
  if (!issued) return { refusal: { code: 'unauthorized', message: revokedToken() } };
  const { record, token } = issued;
  const { id, agent, role, expiresAt } = record;
  const minted = {
    ...(record.roles && { roles: record.roles }),
    ...(record.approves && { approves: record.approves }),
  };
  return {
    result: { id, agent, role, ...minted, ...(expiresAt !== undefined && { expires_at: expiresAt }), token },
  };
}

/** Describes a new token for the audit log. */
export function describeIssued({ id, agent, role, roles, approves, permissions, expiresAt }: TokenRecord): {
  detail: string;
  name: string;
} {
  const life = expiresAt === undefined ? 'without an end' : `until ${new Date(expiresAt).toISOString()}`;
  const minted = roles ? ` (it may issue the roles ${roles.map((one) => `'${one}'`).join(', ')})` : '';
  const decides = approves
    ? ` (it decides on tool calls of ${approves.map((one) => `'${one}'`).join(', ')})`
    : '';
  const reads = permissions.includes('read-bodies') ? ' (it reads bodies)' : '';
  return {
    detail: `token ${id} for '${agent}' with role '${role}'${minted}${decides}${reads}, ${life}`,
    name: agent,
  };
}

/** Runs `token_list`: returns every token without its secret. */
export async function listTokens(
  _params: AdminParams<'token_list'>,
  { tokens }: Pick<FrameDeps, 'tokens'>,
): OperationOutcome<'token_list'> {
  return { result: { tokens: tokens.list().map(describeToken) } };
}

/** Describes a valid token, without its secret. */
export function describeToken(record: TokenRecord): AdminResult<'token_list'>['tokens'][number] {
  const { id, agent, role, roles, approves, permissions, createdAt, expiresAt, parentId, isSignIn, damaged } =
    record;
  return {
    id,
    agent,
    role,
    ...(roles && { roles }),
    ...(approves && { approves }),
    permissions,
    created_at: createdAt,
    ...(expiresAt !== undefined && { expires_at: expiresAt }),
    ...(parentId !== undefined && { parent_id: parentId }),
    ...(isSignIn && { sign_in: true as const }),
    ...(damaged && { damaged }),
  };
}

/** Runs `token_revoke`: revokes a token and its child tokens, ends their connections and gives up their requests. */
export async function revokeToken(
  { id, exited }: AdminParams<'token_revoke'>,
  deps: RevokeDeps,
  caller: Caller,
): OperationOutcome<'token_revoke'> {
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
  if (exited && isMintingPattern(record.agent)) {
    const field = 'params.exited';
    const message = `field '${field}' must be left out: '${record.agent}' is the pattern of a minting token, and no worker`;
    return { refusal: { code: 'bad_frame', field, message } };
  }
  caller.budget.spendFrames(furtherCosts.tokenChange);
  // The exit is reported before the token is removed. If the broker dies in between, the caller can revoke it again.
  const told = exited && (await endWorker(record, exited, deps));
  await removeToken(record, deps, caller);
  return { result: { id, revoked: true, ...told } };
}

/**
 * Runs `token_revoke_agent`: does for every token of an agent what {@link revokeToken} does for one. An agent that asks for itself is
 * refused: it would cut itself off in the middle.
 */
export async function revokeAgentTokens(
  { agent }: AdminParams<'token_revoke_agent'>,
  deps: RevokeDeps,
  caller: Caller,
): OperationOutcome<'token_revoke_agent'> {
  const all = deps.tokens.list();
  const records = all.filter((record) => record.agent === agent);
  if (records.length === 0) {
    const nearest = suggestion(agent, new Set(all.map((record) => record.agent)));
    const message = `no token is for '${agent}'${nearest}; 'token list' shows them`;
    return { refusal: { code: 'unknown_token', field: 'params.agent', message } };
  }
  if (agent === caller.token.agent) {
    const message = `'${agent}' is the agent that asks, and would be shut out; ask with the token of another operator, or revoke single tokens by their ids`;
    return { refusal: { code: 'forbidden', field: 'params.agent', message } };
  }
  const ids: string[] = [];
  for (const record of records) {
    caller.budget.spendFrames(furtherCosts.tokenChange);
    ids.push(...(await removeToken(record, deps, caller)));
  }
  return { result: { agent, ids } };
}

/** Reports a worker's exit. A failure is logged, and the revocation continues. */
async function endWorker(
  record: TokenRecord,
  exit: WorkerExit,
  deps: RevokeDeps,
): ReturnType<typeof tellWorkerExit> {
  try {
    return await tellWorkerExit(record, exit, deps);
  } catch (error) {
    deps.log({ level: 'error', event: 'worker_exit_not_told', agent: record.agent, error });
    return { ...(exit.tell !== undefined && { told: false }), held_ids: [] };
  }
}
