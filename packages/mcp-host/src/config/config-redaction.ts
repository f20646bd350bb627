import {
  redactorOf,
  secretsOfHeader,
  secretsOfUrl,
  withoutCutSecret as withoutCut,
} from '@signalbox/redaction';
import { secretsOfAuth } from '@signalbox/server-auth';
import type { McpServerConfig } from './server-config.ts';

/** Takes the values of a server's environment, headers, sign-in and URL credentials out of texts about that server. */
export function redactor(config: McpServerConfig): (text: string) => string {
  return redactorOf(secretsOf(config));
}

/** For a text that was cut at its front: what it begins with, if that is the end of a secret of this server, is left out. */
export function withoutCutSecret(text: string, config: McpServerConfig): string {
  return withoutCut(text, secretsOf(config));
}

function secretsOf(config: McpServerConfig): string[] {
  if (config.type === 'stdio') return Object.values(config.env ?? {});
  const headers = Object.values(config.headers ?? {}).flatMap(secretsOfHeader);
  const auth = config.auth ? secretsOfAuth(config.auth) : [];
  return [...headers, ...auth, config.url, ...secretsOfUrl(config.url)];
}
