import { existsSync, readFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import type { McpServerConfig } from '@signalbox/mcp-host';
import { messageOf, SignalboxError } from '@signalbox/protocol';
import { defaultListen, type ListenAddress, parseListenAddress } from '../listen-address.ts';
import { type ConfigPart, parseConfig } from './parse-config.ts';
import { type ConfigDocument, type McpServerEntry, transportOf } from './schema.ts';

/** A role's tools, and whom it may send what, if that is limited. */
type RoleEntry = NonNullable<ConfigDocument['roles']>[string];

/** What processes run with: defaults filled in, folders absolute. */
export interface Config {
  /** Absolute path of the file it came from; absent for the built-in defaults. */
  file?: string;
  broker: { listen: ListenAddress; data?: string; durability: 'full' | 'process' };
  orchestrator: {
    id: string;
    concurrency: { global?: number; perServer?: number; perWorker?: number; waitingPerWorker?: number };
    callTimeoutMs?: number;
    /** Tool names or patterns; `never` is the stronger one. */
    repeat: { safe?: string[]; never?: string[] };
  };
  mcpServers: Record<string, McpServerConfig>;
  roles: Record<string, RoleEntry>;
  /** What roles without an entry may use. */
  unlisted: 'allow' | 'deny';
}

/** The file that daemons read where none is named. */
const defaultConfigFile = 'signalbox.yaml';

/** `named`, or `signalbox.yaml` in the working directory where there is one. */
export function findConfigFile(named: string | undefined): string | undefined {
  return named ?? (existsSync(defaultConfigFile) ? defaultConfigFile : undefined);
}

/**
 * Loads a configuration file, or the defaults where there is none. With `parts`, only those are resolved and checked.
 * Throws `SignalboxError` `bad_config` whose message has one line per problem: `file:line: path: message`.
 */
export function loadConfig(
  named: string | undefined,
  options: { env?: NodeJS.ProcessEnv; parts?: readonly ConfigPart[] } = {},
): Config {
  if (named === undefined) return toConfig({}, undefined);
  const file = resolve(named);
  const directory = dirname(file);
  const readFile = (path: string): string => readFileSync(resolve(directory, path), 'utf8');
  const parsed = parseConfig(
    readConfigText(named),
    { env: options.env ?? process.env, readFile },
    options.parts,
  );
  if ('document' in parsed) return toConfig(parsed.document, file);
  const lines = parsed.problems.map(({ line, path, message }) => `${named}:${line}: ${path}: ${message}`);
  throw new SignalboxError('bad_config', lines.join('\n'), {
    details: { file: named, problems: parsed.problems },
  });
}

function readConfigText(named: string): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(readFileSync(named));
  } catch (cause) {
    const problem = { line: 1, path: '(file)', message: unreadable(cause) };
    throw new SignalboxError('bad_config', `${named}:1: (file): ${problem.message}`, {
      cause,
      details: { file: named, problems: [problem] },
    });
  }
}

function unreadable(cause: unknown): string {
  const code = cause instanceof Error && 'code' in cause ? String(cause.code) : messageOf(cause);
  if (code === 'ERR_ENCODING_INVALID_ENCODED_DATA') return 'is no UTF-8 text';
  return `cannot be read (${code === 'EISDIR' ? 'it is a directory' : code})`;
}

function toConfig(document: ConfigDocument, file: string | undefined): Config {
  const directory = file === undefined ? process.cwd() : dirname(file);
  const { broker = {}, orchestrator = {}, roles = {} } = document;
  const listen = broker.listen === undefined ? undefined : parseListenAddress(broker.listen);
  return {
    ...(file !== undefined && { file }),
    broker: {
      listen: listen ?? defaultListen,
      ...(broker.data !== undefined && { data: resolve(directory, broker.data) }),
      durability: broker.durability ?? 'full',
    },
    orchestrator: {
      id: orchestrator.id ?? 'orchestrator',
      concurrency: { ...orchestrator.concurrency } as Config['orchestrator']['concurrency'],
      ...(orchestrator.callTimeoutMs !== undefined && { callTimeoutMs: orchestrator.callTimeoutMs }),
      repeat: {
        ...(orchestrator.safeToRepeat && { safe: orchestrator.safeToRepeat }),
        ...(orchestrator.neverRepeat && { never: orchestrator.neverRepeat }),
      },
    },
    mcpServers: Object.fromEntries(
      Object.entries(document.mcpServers ?? {}).map(([name, entry]) => [name, toServer(entry, directory)]),
    ),
    roles,
    unlisted: document.unlisted ?? (Object.keys(roles).length > 0 ? 'deny' : 'allow'),
  };
}

function toServer(entry: McpServerEntry, directory: string): McpServerConfig {
  const { command = '', args, env, cwd, url = '', headers, timeoutMs } = entry;
  if (transportOf(entry) === 'http') {
    return { type: 'http', url, ...(headers && { headers }), ...(timeoutMs !== undefined && { timeoutMs }) };
  }
  return {
    type: 'stdio',
    command,
    ...(args && { args }),
    ...(env && { env }),
    ...(cwd !== undefined && { cwd: resolve(directory, cwd) }),
    ...(timeoutMs !== undefined && { timeoutMs }),
  };
}
