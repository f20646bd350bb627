import { messageOf } from '@signalbox/protocol';
import { errors, type JWTHeaderParameters } from 'jose';
import type { AuthEntry } from '../config/index.ts';
import { shown } from './shown.ts';

/** The algorithms with which tokens may be signed. None of them takes a shared secret. */
export const algorithms = ['RS256', 'ES256', 'EdDSA'];

/** The time by which clocks may differ, in seconds. */
export const skewSeconds = 60;

const accepted = `${algorithms.slice(0, -1).join(', ')} and ${algorithms.at(-1)}`;

/** Says why a token is refused and what to do about it. `header` is absent if it could not be read. */
export function explainRefusal(
  error: unknown,
  header: JWTHeaderParameters | undefined,
  { issuer, audience }: Pick<AuthEntry, 'issuer' | 'audience'>,
): string {
  if (error instanceof errors.JWTExpired) {
    return `it has expired (${moment('exp', error.payload)}); get a new one from ${issuer}`;
  }
  if (error instanceof errors.JWTClaimValidationFailed) {
    const { claim, payload, reason } = error;
    const value = shown([payload[claim]].flat());
    switch (claim) {
      case 'aud':
        return `its audience ('aud') ${isOrHas(value)}, and auth.audience asks for '${audience}'; ask the provider for a token for this audience`;
      case 'iss':
        return `its issuer ('iss') ${isOrHas(value)}, and auth.issuer asks for '${issuer}'; use a token of this provider, or write its name in auth.issuer exactly so`;
      case 'nbf':
        return `it is not valid yet (${moment('nbf', payload)}); wait, or set the clock of the provider or of the broker`;
      case 'exp':
        if (reason === 'missing')
          return "it has no end: the claim 'exp' is missing; have the provider issue tokens that expire";
    }
    return `the claim '${claim}' is ${reason === 'missing' ? 'missing' : 'no time in seconds'}`;
  }
  if (error instanceof errors.JOSEAlgNotAllowed) {
    return `its algorithm ('alg') ${isOrHas(header ? shown([header.alg]) : '')}, and only ${accepted} are accepted; choose one of them at the provider`;
  }
  if (error instanceof errors.JWKSNoMatchingKey) {
    const key = header?.kid === undefined ? 'a key' : `the key ${shown([header.kid])} ('kid')`;
    return `it was signed with ${key} that ${issuer} does not publish; get a new one there`;
  }
  if (error instanceof errors.JWKSMultipleMatchingKeys) {
    return `more keys of ${issuer} fit it than are tried; have the provider name its key ('kid')`;
  }
  if (error instanceof errors.JWSSignatureVerificationFailed) {
    return 'its signature is wrong: it was changed, or another key signed it';
  }
  return `it can't be read: ${messageOf(error)}`;
}

function isOrHas(value: string): string {
  return value === '' ? 'is missing' : `is ${value}`;
}

function moment(claim: 'exp' | 'nbf', payload: Readonly<Record<string, unknown>>): string {
  const date = new Date(Number(payload[claim]) * 1000);
  return Number.isNaN(date.getTime()) ? `'${claim}'` : `'${claim}' is ${date.toISOString()}`;
}
