import { isAgentId } from './address.ts';

const tokenPattern = /^sbx_([^~]+)~[A-Za-z0-9_-]{43}$/;

/**
 * A token as text: `sbx_<agent>~<secret>`, the secret 32 random bytes in base64url. The agent in it is a convenience
 * for whoever holds the text; the broker trusts only the record it finds by the hash of the whole.
 */
export function tokenText(agent: string, secret: string): string {
  return `sbx_${agent}~${secret}`;
}

/** The agent id that a token text names; `undefined` for a minting token or a text of another form. */
export function agentOfToken(text: string): string | undefined {
  const agent = tokenPattern.exec(text)?.[1];
  return agent !== undefined && isAgentId(agent) ? agent : undefined;
}
