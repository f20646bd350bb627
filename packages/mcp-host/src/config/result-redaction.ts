import { isSecretName } from '@signalbox/protocol/internal';
import { redactorOf, secretsOfHeader, secretsOfUrl, withTexts } from '@signalbox/redaction';
import { type Authorizer, secretsOfAuth } from '@signalbox/server-auth';
import { inheritedSecrets, namesSecret } from '../environment/inherited-variables.ts';
import type { McpServerConfig } from './server-config.ts';

/** Shorter values are words, such as the scheme of a header. */
const shortestSecret = 8;

/** Removes the secrets of a server's configuration from JSON data that it sends. */
export type ResultRedactor = <T>(data: T) => T;

/**
 * Makes the redactor of a server's answers. It removes every value of the server's configuration from errors. From results it removes only
 * the values that are secrets by their name or place, because many good results hold a folder or a mode that is also a variable. Returns
 * `undefined` if the configuration has no such secrets, so that results of most servers cost nothing.
 */
export function resultRedactor(
  config: McpServerConfig,
  authorizer: Authorizer | undefined,
): ResultRedactor | undefined {
  const secrets = namedSecretsOf(config);
  if (secrets.length === 0 && !authorizer) return undefined;
  const redact = redactorOf(secrets, shortestSecret);
  const redactAll = authorizer ? (text: string) => authorizer.redact(redact(text)) : redact;
  return (data) => withTexts(data, redactAll);
}

/** Lists the secrets in a server's configuration, by their name or place: variables, headers, sign-ins, and parts of URLs. */
export function namedSecretsOf(config: McpServerConfig): string[] {
  if (config.type === 'stdio') {
    const variables = Object.entries(config.env ?? {});
    const inherited = Object.entries(inheritedSecrets(config.inheritEnv));
    return [
      ...inherited.flatMap(([name, value]) => [
        ...secretsInUrl(value),
        ...(namesSecret(name) ? [value] : []),
      ]),
      ...secretValues(variables),
      ...variables.flatMap(([, value]) => secretsInUrl(value)),
    ];
  }
  return [
    ...secretValues(Object.entries(config.headers ?? {})).flatMap(secretsOfHeader),
    ...(config.auth ? secretsOfAuth(config.auth) : []),
    ...secretsInUrl(config.url),
  ];
}

/** Lists the password and the secret query values of a URL; none for any other text. */
function secretsInUrl(text: string): string[] {
  const url = URL.parse(text);
  if (!url) return [];
  for (const name of new Set(url.searchParams.keys())) if (!isSecretName(name)) url.searchParams.delete(name);
  return secretsOfUrl(url.href).filter((value) => value !== url.username);
}

function secretValues(entries: readonly [string, string][]): string[] {
  return entries.filter(([name]) => isSecretName(name)).map(([, value]) => value);
}
