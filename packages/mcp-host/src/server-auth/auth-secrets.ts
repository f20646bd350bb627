import { basicCredentials, secretsOfUrls } from '../redaction/index.ts';
import type { ServerAuth } from './auth-config.ts';

/** Lists the secrets in an `auth`, Basic credentials in their Base64 form included. */
export function secretsOfAuth(auth: ServerAuth): string[] {
  if (auth.type === 'bearer') return [auth.token];
  const { clientId = '', clientSecret } = auth;
  const urls = [auth.issuer, auth.tokenUrl].flatMap((url) => (url === undefined ? [] : secretsOfUrls(url)));
  return [
    ...urls,
    ...(auth.type === 'token_exchange' ? [auth.subjectToken] : []),
    ...(clientSecret === undefined ? [] : [clientSecret, ...basicCredentials(clientId, clientSecret)]),
  ];
}
