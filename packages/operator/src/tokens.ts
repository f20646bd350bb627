import type { BrokerClient } from '@signalbox/client';
import { z } from 'zod';

const issuedSchema = z.object({
  id: z.string(),
  agent: z.string(),
  role: z.string(),
  expires_at: z.number().nullish(),
  token: z.string(),
});

const listedSchema = z.object({
  tokens: z.array(
    z.object({
      id: z.string(),
      agent: z.string(),
      role: z.string(),
      permissions: z.array(z.string()),
      created_at: z.number(),
      expires_at: z.number().nullish(),
      parent_id: z.string().nullish(),
    }),
  ),
});

/** A new token with its secret. `expires_at` in epoch milliseconds. */
export type IssuedToken = z.infer<typeof issuedSchema>;

/** A valid token without its secret, which the broker does not know. Times in epoch milliseconds. */
export type ListedToken = z.infer<typeof listedSchema>['tokens'][number];

/** Issues a token for an agent. Without `ttlMs` the broker decides how long it is valid. */
export async function issueToken(
  client: BrokerClient,
  { agent, role, ttlMs }: { agent: string; role: string; ttlMs?: number | undefined },
): Promise<IssuedToken> {
  const params = { agent, role, ...(ttlMs !== undefined && { ttl_ms: ttlMs }) };
  return issuedSchema.parse(await client.admin('token_issue', params));
}

/** Lists the valid tokens. */
export async function listTokens(client: BrokerClient): Promise<ListedToken[]> {
  return listedSchema.parse(await client.admin('token_list', {})).tokens;
}

/** Revokes a token by its id. Connections with it are closed. */
export async function revokeToken(client: BrokerClient, id: string): Promise<void> {
  await client.admin('token_revoke', { id });
}
