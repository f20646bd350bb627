import { doesMoreThanAct } from '@signalbox/protocol/internal';
import { agentTokenMs } from '@signalbox/serving';
import type { TokenRecord } from '@signalbox/store';
import type { TokenOrigin, TokenRegistry } from './token-registry.ts';
import {
  issuersOf,
  refuseChild,
  refuseLongerLife,
  refuseOperator,
  refuseToken,
  type TokenRefusal,
  type TokenRequest,
} from './token-rules.ts';

/** The facts about an issuer that decide what it may issue. */
interface IssuerFacts {
  /** True for a minting token, whose tokens are its children. */
  mints: boolean;
  tokens: Pick<TokenRegistry, 'get' | 'refuseRole'>;
  /** Epoch milliseconds. */
  now: number;
}

/** Decides whether a token may issue another one, and what that one ends with. */
export function judgeIssue(
  issuer: TokenRecord,
  request: TokenRequest,
  { mints, tokens, now }: IssuerFacts,
): { origin: TokenOrigin } | { refusal: TokenRefusal } {
  const { issuers, refusal: tooLong } = issuersOf(issuer, request);
  const owned = mints ? { parent: issuer } : ownedBy(issuer, request, { tokens, now });
  const refuseIssuer = mints ? refuseChild : refuseOperator;
  const refusal =
    refuseToken(request) ??
    refuseIssuer(issuer, request, now) ??
    tooLong ??
    owned.refusal ??
    refuseName(request, tokens);
  return refusal ? { refusal } : { origin: { issuer, parent: owned.parent, issuers } };
}

/** Refuses a token with the name of an orchestrator and another role. It is checked last, so that only those who may issue learn of it. */
export function refuseName(
  { agent, role }: TokenRequest,
  tokens: Pick<TokenRegistry, 'refuseRole'>,
): TokenRefusal | undefined {
  const message = tokens.refuseRole(agent, role);
  return message === undefined ? undefined : { code: 'forbidden', field: 'agent', message };
}

/**
 * Returns the token with which a new one ends. A token that a browser issues ends with the token of the person, so that a page that was
 * left open gives nobody more than that; tokens that this token issues in its turn end with it. Tokens for one agent end with no other.
 */
function ownedBy(
  issuer: TokenRecord,
  request: TokenRequest,
  { tokens, now }: Pick<IssuerFacts, 'tokens' | 'now'>,
): { parent?: TokenRecord; refusal?: TokenRefusal | undefined } {
  if (issuer.parentId === undefined || !doesMoreThanAct(request)) return {};
  const parent = issuer.isSignIn ? tokens.get(issuer.parentId) : issuer;
  if (parent) return { parent, refusal: refuseLife(parent, request, now) };
  const message = 'the broker no longer knows the token of the person who signed in; sign in again';
  return { refusal: { code: 'forbidden', field: 'agent', message } };
}

function refuseLife(parent: TokenRecord, { ttlMs }: TokenRequest, now: number): TokenRefusal | undefined {
  // Without a lifetime of its own, it ends with its parent, or earlier after 30 days.
  if (ttlMs === undefined) return undefined;
  if (ttlMs !== null && ttlMs <= agentTokenMs) return refuseLongerLife(parent, ttlMs, now);
  const message = `a token that does more than act for one agent is valid for at most ${agentTokenMs} ms if a browser issues it; for longer there is signalbox token issue`;
  return { code: 'forbidden', field: 'ttl_ms', message };
}
