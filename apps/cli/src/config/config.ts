import { resolve } from 'node:path';
import type { McpServerConfig } from '@signalbox/mcp-host';
import { defaultListen, type ListenAddress, parseListenAddress } from '../listen-address.ts';
import type { ConfigDocument } from './schema.ts';
import type { McpServerEntry } from './server-schema.ts';
import { toServer, withoutUndefined } from './to-server.ts';

/** A role's tools and budgets, and whom it may send what, if that is limited. */
export type RoleEntry = NonNullable<ConfigDocument['roles']>[string];

/** Calls in a time, as it is written. */
export type BudgetEntry = NonNullable<RoleEntry['budget']>;

/** Tool names or patterns; `never` is the stronger one. */
export interface RepeatEntry {
  safe?: string[];
  never?: string[];
}

/** Where an entry of `mcpServers` came from: the file in force, and the files whose entries it replaced. */
export interface ServerOrigin {
  file: string;
  replaces: string[];
}

/** What processes run with: defaults filled in, paths absolute. */
export interface Config {
  /** Absolute path of the file it came from; absent for the built-in defaults. */
  file?: string;
  broker: { listen: ListenAddress; data?: string; durability: 'full' | 'process' };
  orchestrator: {
    id: string;
    concurrency: { global?: number; perServer?: number; perWorker?: number; waitingPerWorker?: number };
    callTimeoutMs?: number;
    maxProcesses?: number;
    budgets: { perWorker?: BudgetEntry };
    /** By the names under which tools are offered. */
    repeat: RepeatEntry;
  };
  mcpServers: Record<string, McpServerConfig>;
  /** By server, in the names that its tools have there. */
  serverRepeat: Record<string, RepeatEntry>;
  origins: Record<string, ServerOrigin>;
  /** Absolute paths of capability files and folders. */
  capabilities: string[];
  allowHosts: string[];
  roles: Record<string, RoleEntry>;
  /** What roles without an entry may use. */
  unlisted: 'allow' | 'deny';
  /** Nobody wrote {@link unlisted}; it follows from whether any role is listed. */
  unlistedByDefault: boolean;
  /** What is odd but no reason to stop: `file:line: path: message`. */
  warnings: string[];
}

/** A server's entry, the directory that its paths are relative to, and where it came from. */
export interface LayeredServer {
  entry: McpServerEntry;
  directory: string;
  origin: ServerOrigin;
}

/** What holds where there is no file. */
export function builtInConfig(): Config {
  return toConfig({}, { file: undefined, directory: process.cwd() }, { servers: {}, warnings: [] });
}

/** Everything a configuration says, in the form that processes use. */
export function toConfig(
  document: ConfigDocument,
  from: { file: string | undefined; directory: string },
  layers: { servers: Record<string, LayeredServer>; warnings: string[] },
): Config {
  const { broker = {}, orchestrator = {}, roles = {}, capabilities = [] } = document;
  const listen = broker.listen === undefined ? undefined : parseListenAddress(broker.listen);
  const servers = Object.entries(layers.servers);
  const { callTimeoutMs, maxProcesses } = orchestrator;
  return {
    ...(from.file !== undefined && { file: from.file }),
    broker: {
      listen: listen ?? defaultListen,
      ...(broker.data !== undefined && { data: resolve(from.directory, broker.data) }),
      durability: broker.durability ?? 'full',
    },
    orchestrator: {
      id: orchestrator.id ?? 'orchestrator',
      concurrency: withoutUndefined(orchestrator.concurrency ?? {}),
      ...withoutUndefined({ callTimeoutMs, maxProcesses }),
      budgets: withoutUndefined(orchestrator.budgets ?? {}),
      repeat: repeatOf(orchestrator),
    },
    mcpServers: Object.fromEntries(
      servers.map(([name, { entry, directory }]) => [name, toServer(entry, directory)]),
    ),
    serverRepeat: Object.fromEntries(
      servers
        .map(([name, { entry }]) => [name, repeatOf(entry)] as const)
        .filter(([, lists]) => Object.keys(lists).length > 0),
    ),
    origins: Object.fromEntries(servers.map(([name, { origin }]) => [name, origin])),
    capabilities: [capabilities].flat().map((path) => resolve(from.directory, path)),
    allowHosts: document.allowHosts ?? [],
    roles,
    unlisted: document.unlisted ?? (Object.keys(roles).length > 0 ? 'deny' : 'allow'),
    unlistedByDefault: document.unlisted === undefined,
    warnings: layers.warnings,
  };
}

function repeatOf(entry: {
  safeToRepeat?: string[] | undefined;
  neverRepeat?: string[] | undefined;
}): RepeatEntry {
  return withoutUndefined({ safe: entry.safeToRepeat, never: entry.neverRepeat });
}
