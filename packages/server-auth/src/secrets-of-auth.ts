import { basicCredentials, secretsOfUrl } from '@signalbox/redaction';
import type { ServerAuth } from './server-auth.ts';

/** The secrets in the configuration of a sign-in, Basic credentials in their Base64 form included. */
export function secretsOfAuth(auth: ServerAuth): string[] {
  if (auth.type === 'bearer') return [auth.token];
  const { clientId = '', clientSecret } = auth;
  const urls = [auth.issuer, auth.tokenUrl].flatMap((url) => (url === undefined ? [] : secretsOfUrl(url)));
  return [
    ...urls,
    ...(auth.type === 'token_exchange' ? [auth.subjectToken] : []),
    ...(clientSecret === undefined ? [] : [clientSecret, ...basicCredentials(clientId, clientSecret)]),
  ];
}
