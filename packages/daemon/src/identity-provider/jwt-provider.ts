import { createHash } from 'node:crypto';
import type { IdentityProvider } from '@signalbox/broker';
import { decodeProtectedHeader, errors, type JWTHeaderParameters, type JWTPayload, jwtVerify } from 'jose';
import type { AuthEntry } from '../config/index.ts';
import { identityOf } from './claims.ts';
import { KeyUnavailable, ProviderKeys } from './provider-keys.ts';
import { algorithms, explainRefusal, skewSeconds } from './refusal-words.ts';
import { VerificationSlots } from './verification-slots.ts';

/** The number of signatures that are checked at a time: half of the threads that Node has for them by default. */
const verifiedAtOnce = 2;
/** The last time that a `Date` can hold, in seconds. */
const latestSecond = 8_640_000_000_000;

/** The options of {@link openJwtProvider}. */
export interface JwtProviderOptions {
  /** Returns the time in epoch milliseconds. */
  now?: () => number;
  /** Returns monotonic milliseconds. */
  monotonic?: () => number;
  /** Called when the keys can't be fetched, and with `undefined` when they can be again. */
  onProblem?: (problem: string | undefined) => void;
}

/**
 * Checks the JWTs of an identity provider. It begins to fetch the keys before it returns. If that fails, it fetches them when a token
 * comes or somebody asks for its state.
 */
export function openJwtProvider(
  auth: AuthEntry,
  { now = Date.now, monotonic = () => performance.now(), onProblem = () => {} }: JwtProviderOptions = {},
): IdentityProvider {
  const keys = new ProviderKeys({ issuer: auth.issuer, monotonic, onProblem });
  const slots = new VerificationSlots(verifiedAtOnce);
  void keys.refresh();
  return {
    issuer: auth.issuer,
    rulesHash: createHash('sha256').update(JSON.stringify(auth)).digest('hex').slice(0, 16),
    check: () => keys.check(),
    async verify(text) {
      let header: JWTHeaderParameters | undefined;
      try {
        header = decodeProtectedHeader(text) as JWTHeaderParameters;
        if (!algorithms.includes(header.alg)) throw new errors.JOSEAlgNotAllowed();
        const { payload } = await keys.verifyWith(header, (key) =>
          slots.run(() =>
            jwtVerify(text, key, {
              issuer: auth.issuer,
              audience: auth.audience,
              algorithms,
              clockTolerance: skewSeconds,
              currentDate: new Date(now()),
              requiredClaims: ['exp'],
            }),
          ),
        );
        const times = timesOf(payload, now());
        if (times === undefined) return refused("the claim 'exp' is no time that a clock can show");
        const identity = identityOf(payload, auth);
        if ('refusal' in identity) return refused(identity.refusal);
        const hash = createHash('sha256').update(text).digest('hex');
        return { record: { id: tokenId(auth.issuer, payload, text), hash, ...identity, ...times } };
      } catch (error) {
        if (error instanceof KeyUnavailable) {
          const { message, retryAfterMs } = error;
          return { refusal: { message: `the token can't be checked now: ${message}`, retryAfterMs } };
        }
        return refused(explainRefusal(error, header, auth));
      }
    },
  };
}

function refused(message: string): { refusal: { message: string } } {
  return { refusal: { message: `the token of the identity provider is not accepted: ${message}` } };
}

/** Reads when a token was issued and when its connections end: at its expiry, plus the time by which clocks may differ. */
function timesOf(
  { iat, exp = Number.NaN }: JWTPayload,
  now: number,
): { createdAt: number; expiresAt: number } | undefined {
  const expiresAt = Math.floor((exp + skewSeconds) * 1000);
  if (!(exp < latestSecond)) return undefined;
  // The clock of the provider may be ahead of ours.
  const createdAt = Math.floor(Math.min(now, Math.max(0, (iat ?? Number.POSITIVE_INFINITY) * 1000)));
  return { createdAt, expiresAt };
}

/**
 * Names a token by its issuer and its `jti`. A token without one is named by its header and claims, which are signed as text: its
 * signature can be written in several ways, by anybody who has the token.
 */
function tokenId(issuer: string, { jti }: JWTPayload, text: string): string {
  const isNamed = typeof jti === 'string' && jti !== '';
  const named = isNamed ? JSON.stringify([issuer, jti]) : text.slice(0, text.lastIndexOf('.'));
  return `jwt:${createHash('sha256').update(named).digest('base64url')}`;
}
