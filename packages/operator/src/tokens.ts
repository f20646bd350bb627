import type { BrokerClient } from '@signalbox/client';
import type { AdminResult } from '@signalbox/protocol';

/** A new token with its secret. `expires_at` in epoch milliseconds. */
export type IssuedToken = AdminResult<'token_issue'>;

/** A valid token without its secret, which the broker does not know. Times in epoch milliseconds. */
export type ListedToken = AdminResult<'token_list'>['tokens'][number];

/** Issues a token for an agent. Without `ttlMs` the broker decides how long it is valid. */
export async function issueToken(
  client: BrokerClient,
  { agent, role, ttlMs }: { agent: string; role: string; ttlMs?: number | undefined },
): Promise<IssuedToken> {
  return await client.admin('token_issue', { agent, role, ttl_ms: ttlMs });
}

/** Lists the valid tokens. */
export async function listTokens(client: BrokerClient): Promise<ListedToken[]> {
  return (await client.admin('token_list', {})).tokens;
}

/** Revokes a token by its id. Connections with it are closed. */
export async function revokeToken(client: BrokerClient, id: string): Promise<void> {
  await client.admin('token_revoke', { id });
}
