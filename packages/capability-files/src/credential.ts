import { SignalboxError } from '@signalbox/protocol';
import { redactorOf } from '@signalbox/redaction';
import { encoded, isHeaderValue } from './request-address.ts';
import type { AuthDocument } from './schema.ts';
import type { ServiceRequest } from './service.ts';

/** Shorter texts are everywhere; replacing them would garble an answer. */
const shortestSecret = 4;

/** The request with the secret in its place, and the names of headers that hold it. */
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

/** The header a credential goes into, in lower case. */
export function credentialHeader(auth: AuthDocument): string | undefined {
  if (auth.type === 'query') return undefined;
  return auth.type === 'header' ? auth.header.toLowerCase() : 'authorization';
}

function headerValue(auth: Exclude<AuthDocument, { type: 'query' }>, secret: string): string {
  if (auth.type === 'basic') return `Basic ${Buffer.from(secret, 'utf8').toString('base64')}`;
  const prefix = auth.prefix ?? (auth.type === 'bearer' ? 'Bearer' : '');
  return `${prefix}${/[\p{L}\p{N}]$/u.test(prefix) ? ' ' : ''}${secret}`;
}

/** Takes a secret out of a text, in every form in which it was sent. */
export function secretRedactor(auth: AuthDocument, secret: string): (text: string) => string {
  const parts = auth.type === 'basic' ? [secret, secret.slice(secret.indexOf(':') + 1)] : [secret];
  const secrets = parts.filter((part) => part.length >= shortestSecret);
  const encoded = secrets.map((part) => Buffer.from(part, 'utf8').toString('base64'));
  return redactorOf([...secrets, ...encoded], shortestSecret);
}
