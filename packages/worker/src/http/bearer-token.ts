import { agentOfToken, isJwt, maxTokenLength } from '@signalbox/protocol';
import type { HttpRefusal } from '../sdk/http-refusal.ts';

/** The token of a request, not yet verified; `agent` is the agent that its text names. */
export interface BearerToken {
  token: string;
  agent: string;
}

/**
 * Reads an `Authorization` header. A text that cannot be an agent's token is refused without asking the broker. In a JSON Web Token,
 * `agentClaim` names the agent.
 */
export function bearerToken(
  authorization: string | undefined,
  agentClaim?: string,
): BearerToken | HttpRefusal {
  if (authorization === undefined) {
    return {
      status: 401,
      message: 'each request needs a Signalbox token: send it as Authorization: Bearer TOKEN',
      headers: { 'www-authenticate': 'Bearer realm="signalbox"' },
    };
  }
  const token = /^bearer +([!-~]+) *$/i.exec(authorization)?.[1];
  if (token === undefined || token.length > maxTokenLength) {
    return invalidToken(
      'the Authorization header must read: Bearer TOKEN, as signalbox token issue gives it',
    );
  }
  const agent = agentOfToken(token, agentClaim);
  if (agent !== undefined) return { token, agent };
  if (!isJwt(token))
    return invalidToken("this is not an agent's Signalbox token; get one with signalbox token issue");
  return invalidToken(
    `the claim '${agentClaim ?? 'sub'}' of this token names no agent; the identity provider has to put an agent id there`,
  );
}

/** Refuses a token for good, with 401. */
export function invalidToken(message: string): HttpRefusal {
  const description = message.replaceAll(/["\\]|[^ -~]/g, "'");
  const challenge = `Bearer realm="signalbox", error="invalid_token", error_description="${description}"`;
  return { status: 401, message, headers: { 'www-authenticate': challenge } };
}
