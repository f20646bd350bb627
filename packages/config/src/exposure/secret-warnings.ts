import { readFileSync } from 'node:fs';
import type { McpServerConfig } from '@signalbox/mcp-host';
import { namedSecretsOf } from '@signalbox/mcp-host/rules';
import { isLoopback } from '@signalbox/protocol';
import { isSecretName } from '@signalbox/protocol/internal';
import type { Config } from '../config.ts';
import { readableByOthers } from './readable-by-others.ts';

/** Shorter values stand in a file by chance. */
const shortestSecret = 8;

/**
 * Warns of secrets that others can read: those that stand in a configuration file that other users may read, and those that are sent to
 * another machine without encryption. No warning holds a secret.
 */
export function secretWarnings({ mcpServers, hooks, origins, files }: Config): string[] {
  const servers = Object.entries(mcpServers);
  const plain = servers.flatMap(([name, server]) => {
    if (server.type !== 'http' || !hasCredentials(server)) return [];
    const { protocol, hostname } = new URL(server.url);
    if (protocol !== 'http:' || isLoopback(hostname)) return [];
    return [
      `mcpServers.${name}: its secrets go to ${hostname} over http://, where others can read them; use https://`,
    ];
  });
  const own = new Set(Object.values(origins).map(({ file }) => file));
  const holders = [
    ...servers.map(([name, server]) => [`mcpServers.${name}`, secretsOf(server)] as const),
    ...Object.entries(hooks).map(([name, { secret }]) => [`hooks.${name}`, [secret]] as const),
  ];
  const readable = Object.keys(files).flatMap((file) => {
    const text = textForOthers(file);
    const holder = holders.find(([, secrets]) => secrets.some((secret) => text?.includes(secret)));
    return holder ? [literalSecret(file, holder[0], own.has(file))] : [];
  });
  return [...plain, ...readable];
}

function literalSecret(file: string, holder: string, isConfiguration: boolean): string {
  const fix = isConfiguration
    ? `chmod go-r ${file}, or write \${env:NAME} or \${file:PATH} there`
    : `chmod go-r ${file}`;
  return `${file} holds a secret of ${holder}, and other users may read it: ${fix}`;
}

/** Returns the text of a file that other users may read; `undefined` for any other. */
function textForOthers(file: string): string | undefined {
  try {
    return readableByOthers(file) ? readFileSync(file, 'utf8') : undefined;
  } catch {
    return undefined;
  }
}

function hasCredentials({ headers = {}, auth, url }: Extract<McpServerConfig, { type: 'http' }>): boolean {
  const names = [...Object.keys(headers), ...new URL(url).searchParams.keys()];
  return auth !== undefined || names.some(isSecretName) || new URL(url).password !== '';
}

function secretsOf(server: McpServerConfig): string[] {
  return namedSecretsOf(server).filter((value) => value.length >= shortestSecret);
}
