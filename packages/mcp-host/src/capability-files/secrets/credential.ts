import { SignalboxError } from '@signalbox/protocol';
import { redactorOf } from '../../redaction/index.ts';
import { encoded, isHeaderValue } from '../services/request-target.ts';
import type { ServiceRequest } from '../services/service.ts';
import type { AuthDocument } from './auth-schema.ts';

/** The shortest secret that is redacted. A shorter one is part of many words, and an answer would become unreadable. */
const shortestRedacted = 4;

/** Returns the request with the secret in the place that `auth` names. Throws `SignalboxError` `bad_secret` if it can't be put there. */
export function withCredential(request: ServiceRequest, auth: AuthDocument, secret: string): ServiceRequest {
  if (auth.type === 'query') {
    const url = new URL(request.url);
    const pair = `${encoded(auth.param, auth.param)}=${encoded(secret, auth.param)}`;
    url.search = url.search === '' ? pair : `${url.search}&${pair}`;
    return { ...request, url };
  }
  const value = headerValue(auth, secret);
  if (!isHeaderValue(value)) {
    throw new SignalboxError('bad_secret', `${auth.key}: it holds characters that no header can`);
  }
  return { ...request, headers: { ...request.headers, [credentialHeader(auth)!]: value } };
}

/** Returns the header that holds the credential, in lower case; `undefined` if it is in the query. */
export function credentialHeader(auth: AuthDocument): string | undefined {
  if (auth.type === 'query') return undefined;
  return auth.type === 'header' ? auth.header.toLowerCase() : 'authorization';
}

function headerValue(auth: Exclude<AuthDocument, { type: 'query' }>, secret: string): string {
  if (auth.type === 'basic') return `Basic ${base64(secret)}`;
  const prefix = auth.prefix ?? (auth.type === 'bearer' ? 'Bearer' : '');
  return `${prefix}${/[\p{L}\p{N}]$/u.test(prefix) ? ' ' : ''}${secret}`;
}

/** Makes a function that removes a secret from a text, in every form in which it was sent. */
export function secretRedactor(auth: AuthDocument, secret: string): (text: string) => string {
  return redactorOf(sentForms(auth, secret), { shortest: shortestRedacted });
}

/** Lists the forms in which a secret is sent. */
export function sentForms(auth: AuthDocument, secret: string): string[] {
  const parts = auth.type === 'basic' ? [secret, secret.slice(secret.indexOf(':') + 1)] : [secret];
  const secrets = parts.filter((part) => part.length >= shortestRedacted);
  return [...secrets, ...secrets.map(base64)];
}

function base64(text: string): string {
  return Buffer.from(text, 'utf8').toString('base64');
}
