import { isAgentId } from './address.ts';

const tokenPattern = /^sbx_([^~]+)~[A-Za-z0-9_-]{43}$/;

/**
 * Writes a token as text: `sbx_<agent>~<secret>`, where the secret is 32 random bytes in base64url. The agent in it helps people
 * to tell tokens apart. The broker trusts only the record that it finds by the hash of the whole text.
 */
export function tokenText(agent: string, secret: string): string {
  return `sbx_${agent}~${secret}`;
}

/** Returns the agent id that a token text names. Returns `undefined` for a minting token or a text of another form. */
export function agentOfToken(text: string): string | undefined {
  const agent = tokenPattern.exec(text)?.[1];
  return agent !== undefined && isAgentId(agent) ? agent : undefined;
}
