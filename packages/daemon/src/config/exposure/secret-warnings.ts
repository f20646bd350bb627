import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import type { McpServerConfig } from '@signalbox/mcp-host';
import { secretsByForm } from '@signalbox/mcp-host/redaction';
import { judgeServer } from '@signalbox/mcp-host/rules';
import { isLoopback } from '@signalbox/protocol';
import type { Config } from '../config.ts';
import { readableByOthers } from './readable-by-others.ts';

/** Shorter values stand in a file by chance. */
const shortestSecret = 8;

/**
 * Warns of secrets that others can read: those that stand in a configuration file that other users may read, and those that are sent to
 * another machine without encryption. No warning holds a secret.
 */
export function secretWarnings({ mcpServers, hooks, origins, files, file }: Config): string[] {
  const servers = Object.entries(mcpServers);
  const plain = servers.flatMap(([name, server]) => {
    if (server.type !== 'http' || !hasCredentials(server)) return [];
    const { protocol, hostname } = new URL(server.url);
    if (protocol !== 'http:' || isLoopback(hostname)) return [];
    return [
      `mcpServers.${name}: its secrets go to ${hostname} over http://, where others can read them; use https://`,
    ];
  });
  const named = Object.values(origins).map((origin) => origin.file);
  const own = new Set([...named, ...(file === undefined ? [] : [file])].map((path) => resolve(path)));
  const holders = [
    ...servers.map(([name, server]) => ({ holder: `mcpServers.${name}`, ...secretsOf(server) })),
    ...Object.entries(hooks).map(([name, { secret }]) => ({
      holder: `hooks.${name}`,
      literal: [secret],
      referred: [],
    })),
  ];
  const readable = Object.keys(files).flatMap((path) => {
    const text = textForOthers(path);
    if (text === undefined) return [];
    const isConfiguration = own.has(path);
    // In a file with references, a value that came from one stands by chance.
    const found = holders.find(({ literal, referred }) =>
      (isConfiguration ? literal : [...literal, ...referred]).some((secret) => text.includes(secret)),
    );
    return found ? [literalSecret(path, found.holder, isConfiguration)] : [];
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

function hasCredentials(server: Extract<McpServerConfig, { type: 'http' }>): boolean {
  const isSent = judgeServer(server).some(({ place, reason }) => reason !== undefined && place !== 'url');
  return isSent || secretsByForm(server.url).length > 0;
}

/** Lists the secrets of a server that may stand in a file: those that are written there, and those that came from elsewhere. */
function secretsOf(server: McpServerConfig): { literal: string[]; referred: string[] } {
  const long = judgeServer(server).map(({ reason, secrets }) => ({
    isReferred: reason === 'reference',
    secrets: secrets.filter((value) => value.length >= shortestSecret),
  }));
  const secretsIf = (isReferred: boolean) =>
    long.flatMap((one) => (one.isReferred === isReferred ? one.secrets : []));
  return { literal: secretsIf(false), referred: secretsIf(true) };
}
