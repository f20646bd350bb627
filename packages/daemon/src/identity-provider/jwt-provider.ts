import { createHash } from 'node:crypto';
import type { IdentityProvider } from '@signalbox/broker';
import type { AuthEntry } from '@signalbox/config';
import { messageOf } from '@signalbox/protocol';
import { errors, type JWTPayload, jwtVerify } from 'jose';
import { identityOf } from './claims.ts';
import { KeysUnavailable, ProviderKeys } from './provider-keys.ts';

const algorithms = ['RS256', 'ES256', 'EdDSA'];
const skewSeconds = 60;

/** The clocks of {@link openJwtProvider}. */
export interface ProviderClocks {
  /** Returns the time in epoch milliseconds. */
  now?: () => number;
  /** Returns monotonic milliseconds. */
  monotonic?: () => number;
}

/**
 * Checks the JWTs of an identity provider. Its keys are fetched now; where that fails, the broker starts nevertheless, and they are
 * fetched when a token comes.
 */
export async function openJwtProvider(
  auth: AuthEntry,
  { now = Date.now, monotonic = () => performance.now() }: ProviderClocks = {},
): Promise<IdentityProvider> {
  const keys = new ProviderKeys(auth.issuer, monotonic);
  await keys.refresh();
  return {
    check: () => {
      const { problem } = keys;
      return { ok: problem === undefined, detail: problem ?? `the keys of ${auth.issuer} are known` };
    },
    async verify(text) {
      try {
        const { payload } = await jwtVerify(text, keys.find, {
          issuer: auth.issuer,
          audience: auth.audience,
          algorithms,
          clockTolerance: skewSeconds,
          currentDate: new Date(now()),
          requiredClaims: ['exp'],
        });
        const identity = identityOf(payload, auth);
        if ('refusal' in identity) return refused(identity.refusal);
        const hash = createHash('sha256').update(text).digest('hex');
        const { iat, exp } = payload;
        const createdAt = iat === undefined ? now() : iat * 1000;
        const expiresAt = (exp! + skewSeconds) * 1000;
        return {
          record: { id: tokenId(auth.issuer, payload, text), hash, ...identity, createdAt, expiresAt },
        };
      } catch (error) {
        if (error instanceof KeysUnavailable) {
          const message = `the token can't be checked now: ${error.message}`;
          return { refusal: { message, isPassing: true } };
        }
        return refused(explained(error, auth));
      }
    },
  };
}

function refused(message: string): { refusal: { message: string; isPassing: boolean } } {
  return {
    refusal: { message: `the token of the identity provider is not accepted: ${message}`, isPassing: false },
  };
}

/** Names a token by its issuer and its `jti`, or by its whole text where it has none. */
function tokenId(issuer: string, { jti }: JWTPayload, text: string): string {
  const named = jti === undefined ? text : JSON.stringify([issuer, jti]);
  return `jwt:${createHash('sha256').update(named).digest('base64url')}`;
}

function explained(error: unknown, { issuer, audience }: AuthEntry): string {
  if (error instanceof errors.JWTExpired) return 'it has expired; get a new one';
  if (error instanceof errors.JWTClaimValidationFailed) {
    switch (error.claim) {
      case 'aud':
        return `its audience ('aud') is not '${audience}', which auth.audience asks for`;
      case 'iss':
        return `its issuer ('iss') is not '${issuer}', which auth.issuer asks for`;
      case 'nbf':
        return "it is not valid yet ('nbf')";
      default:
        return `the claim '${error.claim}' is missing or wrong`;
    }
  }
  if (error instanceof errors.JOSEAlgNotAllowed) return `it is not signed with ${algorithms.join(', ')}`;
  if (error instanceof errors.JWKSNoMatchingKey)
    return 'it was signed with a key that the provider does not publish';
  if (error instanceof errors.JWSSignatureVerificationFailed) return 'its signature is wrong';
  return `it can't be read: ${messageOf(error)}`;
}
