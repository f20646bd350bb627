import {
  redactorOf,
  secretsOfHeader,
  secretsOfUrl,
  withoutCutSecret as withoutCut,
} from '@signalbox/redaction';
import { secretsOfAuth } from '@signalbox/server-auth';
import { inheritedSecrets } from '../environment/inherited-variables.ts';
import type { McpServerConfig } from './server-config.ts';

/** Returns a function that removes the secrets of a server's environment, headers, sign-in and URL from a text. */
export function redactor(config: McpServerConfig): (text: string) => string {
  return redactorOf(secretsOf(config));
}

/** Removes the end of a secret of this server from the beginning of a text that was cut there. */
export function withoutCutSecret(text: string, config: McpServerConfig): string {
  return withoutCut(text, secretsOf(config));
}

function secretsOf(config: McpServerConfig): string[] {
  if (config.type === 'stdio') {
    const inherited = Object.values(inheritedSecrets(config.inheritEnv));
    return [...Object.values(config.env ?? {}), ...inherited, ...inherited.flatMap(secretsOfUrl)];
  }
  const headers = Object.values(config.headers ?? {}).flatMap(secretsOfHeader);
  const auth = config.auth ? secretsOfAuth(config.auth) : [];
  return [...headers, ...auth, config.url, ...secretsOfUrl(config.url)];
}
