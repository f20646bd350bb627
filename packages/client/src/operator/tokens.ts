import type { BrokerClient } from '@signalbox/client';
import type { AdminResult } from '@signalbox/protocol';
import { doesMoreThanAct } from '@signalbox/protocol/internal';

/** A new token with its secret. `expires_at` in epoch milliseconds. */
export type IssuedToken = AdminResult<'token_issue'>;

/** A valid token without its secret, which the broker does not know. Times in epoch milliseconds. */
export type ListedToken = AdminResult<'token_list'>['tokens'][number];

/**
 * Tells whether a person has to renew a token. Sign-ins of browsers end by themselves, and the supervisor of an agent renews the tokens
 * that it issues with a minting token.
 */
export function isRenewedByHand(token: ListedToken): boolean {
  return !token.sign_in && (token.parent_id === undefined || doesMoreThanAct(token));
}

/**
 * Issues a token for an agent, or with a pattern a minting token, whose tokens may have one of `roles`, or only `role`. With `approves` the
 * token decides on tool calls of these roles, and with `readsBodies` an observer reads bodies that are kept. It is valid for `ttlMs`, or
 * for ever with `null`. Without `ttlMs` the broker decides: an agent's token is valid for 30 days.
 */
export async function issueToken(
  client: BrokerClient,
  {
    agent,
    role,
    roles,
    approves,
    readsBodies,
    ttlMs,
  }: {
    agent: string;
    role: string;
    roles?: string[] | undefined;
    approves?: string[] | undefined;
    readsBodies?: true | undefined;
    ttlMs?: number | null | undefined;
  },
): Promise<IssuedToken> {
  return await client.admin('token_issue', {
    agent,
    role,
    roles,
    approves,
    read_bodies: readsBodies,
    ttl_ms: ttlMs,
  });
}

/** Lists the valid tokens. */
export async function listTokens(client: BrokerClient): Promise<ListedToken[]> {
  return (await client.admin('token_list', {})).tokens;
}

/**
 * Revokes all tokens of an agent, also those that minting tokens issued for it, and returns their ids. For a pattern such as `ci-*`, it
 * revokes the minting tokens with that pattern and the tokens that they issued. Rejects with `unknown_token` if there are none.
 */
export async function revokeAgentTokens(client: BrokerClient, agent: string): Promise<string[]> {
  return (await client.admin('token_revoke_agent', { agent })).ids;
}

/** Revokes a token by its id. Connections with it are closed. */
export async function revokeToken(client: BrokerClient, id: string): Promise<void> {
  await client.admin('token_revoke', { id });
}

/** Makes links to the dashboard, one for each address of the broker. They hold one code, which signs in once. */
export async function makeSignInLink(
  client: BrokerClient,
): Promise<{ links: string[]; expiresInMs: number }> {
  const { code, urls, expires_in_ms } = await client.admin('sign_in_link', {});
  // Browsers never send the part behind #: it is in no log of a proxy.
  return { links: urls.map((url) => `${url}#code=${code}`), expiresInMs: expires_in_ms };
}
