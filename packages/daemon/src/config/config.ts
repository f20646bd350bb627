import type { McpServerConfig } from '@signalbox/mcp-host';
import { defaultAskDeadlineMs, type LimitOverrides } from '@signalbox/protocol';
import { parseDuration } from '@signalbox/protocol/internal';
import type { A2aLimits, CallSizeLimits, FaceLimits, JournalLimits, ResultLimits } from '@signalbox/serving';
import { pathIn } from './document/path-in.ts';
import { defaultListen, type ListenAddress, parseListenAddress } from './listen-address.ts';
import type { ConfigDocument } from './schema/config-schema.ts';
import { keptByDefault } from './schema/kept-by-default.ts';
import { hostServer, remoteServer } from './servers/host-server.ts';
import type { ImportedPart, MergedServer, ServerOrigin } from './servers/merge-servers.ts';
import { withoutUndefined } from './without-undefined.ts';

/** A role's tools, mailbox and budgets, and to whom it may send which kinds of messages. */
export type RoleEntry = NonNullable<ConfigDocument['roles']>[string];

/** An identity provider, and what the claims of its tokens mean. */
export type AuthEntry = NonNullable<ConfigDocument['auth']> & { agentClaim: string };

/** A budget: at most `calls` calls in any `perSeconds` seconds. */
export type BudgetEntry = NonNullable<RoleEntry['budget']>;

/** A schedule. Times in milliseconds. */
export interface ScheduleConfig {
  to: string;
  kind: string;
  text: string;
  cron?: string;
  timeZone?: string;
  everyMs?: number;
  catchUpMs?: number;
}

/** A webhook. */
export type HookConfig = NonNullable<ConfigDocument['hooks']>[string] & { kind: string };

/** An agent or group that clients of A2A may ask, and what its card says. */
export interface OutsideAgent {
  to: string;
  name: string;
  description: string;
  skills: { id: string; name: string; description: string; tags: string[]; examples: string[] }[];
}

/** The agents that clients of A2A may ask, and how. Times in milliseconds. */
export interface A2aConfig {
  listen: ListenAddress;
  agents: Record<string, OutsideAgent>;
  roles: string[];
  /** The address that clients use, if it is not that of `listen`. */
  url?: string;
  /** The absolute paths of the certificate and its key. */
  tls?: { cert: string; key: string };
  keepMs: number;
  deadlineMs: number;
  limits: Partial<A2aLimits>;
}

/** A server of this file that an orchestrator with a label hosts. */
export interface PlacedServer {
  label: string;
  server: McpServerConfig;
}

/** Names of tools, or patterns, that may or must not be called again. `never` wins over `safe`. */
export interface RepeatEntry {
  safe?: string[];
  never?: string[];
}

/** The configuration that processes run with: defaults are filled in, and paths are absolute. */
export interface Config {
  /** Absolute path of the file that it was read from; absent for the built-in defaults. */
  file?: string;
  /**
   * The files that it was read from by their absolute paths, those of `mcpConfig` and `${file:…}` included. Each has a hash of what was
   * read, or an empty text if it was a pipe or could not be read. The hash of another client's file is that of its servers; one that could
   * not be read has the reason instead.
   */
  files: Record<string, string>;
  broker: {
    listen: ListenAddress;
    socket: boolean;
    data?: string;
    durability: 'full' | 'process';
    /** The database that is used in place of files of the data directory. */
    store?: {
      postgres: string;
      direct?: string;
      schema: string;
      name?: string;
      /** The address for other brokers, if it is not a free port beside `listen`. */
      link?: ListenAddress | false;
    };
    metrics: 'token' | 'open';
    /** The absolute paths of the certificate and its key. */
    tls?: { cert: string; key: string };
    trustedOrigins: string[];
    /** The bodies of settled messages that the broker keeps; absent: none. */
    keepBodies?: { kinds: string[]; ageMs: number; bytes: number };
    limits: LimitOverrides;
  };
  /** The identity provider whose tokens the broker accepts. */
  auth?: AuthEntry;
  orchestrator: {
    id: string;
    /** The label of an orchestrator that serves its tools to the one without a label. */
    host?: string;
    listen?: ListenAddress;
    concurrency: { global?: number; perServer?: number; perWorker?: number; waitingPerWorker?: number };
    /** False: all tool calls go through the broker. */
    lane: boolean;
    callTimeoutMs?: number;
    maxProcesses?: number;
    limits: {
      calls: Partial<CallSizeLimits>;
      journal: Partial<JournalLimits>;
      results: Partial<ResultLimits>;
    };
    budgets: { perWorker?: BudgetEntry };
    /** The lists that name tools as they are shown. */
    repeat: RepeatEntry;
  };
  worker: {
    /** The address at which the face of `signalbox up` serves MCP over HTTP. */
    http?: ListenAddress;
    limits: Partial<FaceLimits>;
  };
  /** The agents that clients of A2A may ask. */
  a2a?: A2aConfig;
  mcpServers: Record<string, McpServerConfig>;
  /** How the servers that orchestrators with labels host are run, for those that read this file. */
  placed: Record<string, PlacedServer>;
  /** The servers that each orchestrator with a label may offer, by label. */
  hosts: Record<string, string[]>;
  /** The names of imported servers that can't be used; {@link warnings} say why. */
  leftOut: string[];
  /** The files of other clients that can't be used; {@link warnings} say why. */
  leftOutFiles: string[];
  /** Lines about files of other clients that can't be read now, also those whose servers stay. They are among {@link warnings}. */
  unreadFiles: string[];
  /** The paths of `mcpConfig`, with what was read there. */
  imports: ImportedPart[];
  /** The lists of each server, which name tools as the server does. */
  serverRepeat: Record<string, RepeatEntry>;
  /** The file of each server's entry. */
  origins: Record<string, ServerOrigin>;
  /** Absolute paths of capability files and folders. */
  capabilities: string[];
  allowHosts: string[];
  roles: Record<string, RoleEntry>;
  /** The groups besides those of roles, by name. */
  groups: Record<string, { roles: string[] }>;
  /** The webhooks by name. */
  hooks: Record<string, HookConfig>;
  /** The schedules by name. */
  schedules: Record<string, ScheduleConfig>;
  /** The rules for calls that wait for a decision. */
  approvals: { deadlineMs: number; notify: string[] };
  /** Says whether roles without an entry may use every tool or none. */
  unlisted: 'allow' | 'deny';
  /** True if the file does not say {@link unlisted}: it then follows from whether any role is listed. */
  unlistedByDefault: boolean;
  /** Lines of the form `file:line: path: message` about oddities that keep nothing from starting. */
  warnings: string[];
}

/** Returns the configuration that holds where there is no file. */
export function builtInConfig(): Config {
  return settleConfig({}, { files: {}, directory: process.cwd(), servers: {}, leftOut: [], warnings: [] });
}

/** Fills in the defaults of a configuration as it is written, and makes its paths absolute. */
export function settleConfig(
  document: ConfigDocument,
  from: {
    file?: string;
    files: Record<string, string>;
    directory: string;
    servers: Record<string, MergedServer>;
    leftOut: string[];
    leftOutFiles?: string[];
    unreadFiles?: string[];
    imports?: ImportedPart[];
    warnings: string[];
  },
): Config {
  const { broker = {}, orchestrator = {}, worker = {}, roles = {}, capabilities = [] } = document;
  const listen = broker.listen === undefined ? undefined : parseListenAddress(broker.listen);
  const { link: linkText } = broker.store ?? {};
  const link = typeof linkText === 'string' ? parseListenAddress(linkText) : linkText;
  const servers = Object.entries(from.servers);
  const { callTimeoutMs, maxProcesses } = orchestrator;
  const http = worker.http === undefined ? undefined : parseListenAddress(worker.http);
  const ownListen = orchestrator.listen === undefined ? undefined : parseListenAddress(orchestrator.listen);
  return {
    ...(from.file !== undefined && { file: from.file }),
    files: from.files,
    broker: {
      listen: listen ?? defaultListen,
      socket: broker.socket ?? true,
      ...(broker.data !== undefined && { data: pathIn(from.directory, broker.data) }),
      durability: broker.durability ?? 'full',
      ...(broker.store && {
        store: {
          postgres: broker.store.postgres,
          ...(broker.store.direct !== undefined && { direct: broker.store.direct }),
          schema: broker.store.schema ?? 'signalbox',
          ...(broker.store.name !== undefined && { name: broker.store.name }),
          ...(link !== undefined && { link }),
        },
      }),
      metrics: broker.metrics ?? 'token',
      ...(broker.tls && {
        tls: { cert: pathIn(from.directory, broker.tls.cert), key: pathIn(from.directory, broker.tls.key) },
      }),
      trustedOrigins: broker.trustedOrigins ?? [],
      ...keptBodies(broker.keepBodies),
      limits: broker.limits ?? {},
    },
    ...(document.auth && { auth: { ...document.auth, agentClaim: document.auth.agentClaim ?? 'sub' } }),
    orchestrator: {
      id: orchestrator.id ?? 'orchestrator',
      ...(orchestrator.host !== undefined && { host: orchestrator.host }),
      ...(ownListen && { listen: ownListen }),
      concurrency: withoutUndefined(orchestrator.concurrency ?? {}),
      lane: orchestrator.lane ?? true,
      ...withoutUndefined({ callTimeoutMs, maxProcesses }),
      limits: {
        calls: withoutUndefined(orchestrator.limits?.calls ?? {}),
        journal: withoutUndefined(orchestrator.limits?.journal ?? {}),
        results: withoutUndefined(orchestrator.limits?.results ?? {}),
      },
      budgets: withoutUndefined(orchestrator.budgets ?? {}),
      repeat: repeatEntry(orchestrator),
    },
    worker: { ...(http && { http }), limits: withoutUndefined(worker.limits ?? {}) },
    ...(document.a2a && { a2a: settleA2a(document.a2a, from.directory) }),
    ...settleServers(document, servers),
    leftOut: from.leftOut,
    leftOutFiles: from.leftOutFiles ?? [],
    unreadFiles: from.unreadFiles ?? [],
    imports: from.imports ?? [],
    serverRepeat: Object.fromEntries(
      servers
        .map(([name, { entry }]) => [name, repeatEntry(entry)] as const)
        .filter(([, lists]) => Object.keys(lists).length > 0),
    ),
    origins: Object.fromEntries(servers.map(([name, { origin }]) => [name, origin])),
    capabilities: [capabilities].flat().map((path) => pathIn(from.directory, path)),
    allowHosts: document.allowHosts ?? [],
    roles,
    groups: document.groups ?? {},
    hooks: Object.fromEntries(
      Object.entries(document.hooks ?? {}).map(([name, hook]) => [
        name,
        { ...hook, kind: hook.kind ?? 'task' },
      ]),
    ),
    schedules: Object.fromEntries(
      Object.entries(document.schedules ?? {}).map(([name, schedule]) => [name, settleSchedule(schedule)]),
    ),
    approvals: {
      deadlineMs: document.approvals?.deadlineMs ?? defaultAskDeadlineMs,
      notify: document.approvals?.notify ?? [],
    },
    unlisted: document.unlisted ?? (Object.keys(roles).length > 0 ? 'deny' : 'allow'),
    unlistedByDefault: document.unlisted === undefined,
    warnings: from.warnings,
  };
}

/** Settles the servers of a configuration, with those that its orchestrators with labels host. */
function settleServers(
  { orchestrator = {}, hosts = {} }: ConfigDocument,
  servers: readonly (readonly [name: string, server: MergedServer])[],
): Pick<Config, 'mcpServers' | 'placed' | 'hosts'> {
  const { definitions, limits } = orchestrator;
  const common = { limits: limits?.perServer, definitions };
  const mcpServers: Config['mcpServers'] = {};
  const placed: Config['placed'] = {};
  const named = new Map(Object.entries(hosts).map(([label, names]) => [label, new Set(names)]));
  for (const [name, { entry, secrets }] of servers) {
    const { host: label } = entry;
    if (label === undefined) {
      mcpServers[name] = hostServer(entry, secrets, common);
      continue;
    }
    mcpServers[name] = remoteServer(label, entry, common);
    named.set(label, (named.get(label) ?? new Set()).add(name));
    if (entry.command !== undefined || entry.url !== undefined)
      placed[name] = { label, server: hostServer(entry, secrets, common) };
  }
  for (const [label, names] of Object.entries(hosts))
    for (const name of names) mcpServers[name] ??= remoteServer(label, {}, common);
  return {
    mcpServers,
    placed,
    hosts: Object.fromEntries(Array.from(named, ([label, names]) => [label, [...names]])),
  };
}

const defaultA2aListen: ListenAddress = { host: '127.0.0.1', port: 7430 };
const day = 24 * 60 * 60 * 1000;

function settleA2a(document: NonNullable<ConfigDocument['a2a']>, directory: string): A2aConfig {
  const { url, tls, keep, deadline } = document;
  const agents = Object.entries(document.agents).map(([name, agent]): [string, OutsideAgent] => [
    name,
    {
      to: agent.to ?? name,
      name: agent.name ?? name,
      description: agent.description,
      skills: (agent.skills ?? []).map(({ tags = [], examples = [], ...skill }) => ({
        ...skill,
        tags,
        examples,
      })),
    },
  ]);
  return {
    listen:
      (document.listen === undefined ? undefined : parseListenAddress(document.listen)) ?? defaultA2aListen,
    agents: Object.fromEntries(agents),
    roles: document.roles,
    ...(url !== undefined && { url }),
    ...(tls && { tls: { cert: pathIn(directory, tls.cert), key: pathIn(directory, tls.key) } }),
    keepMs: (keep === undefined ? undefined : parseDuration(keep)) ?? 7 * day,
    deadlineMs: (deadline === undefined ? undefined : parseDuration(deadline)) ?? day,
    limits: withoutUndefined(document.limits ?? {}),
  };
}

function repeatEntry(entry: {
  safeToRepeat?: string[] | undefined;
  neverRepeat?: string[] | undefined;
}): RepeatEntry {
  return withoutUndefined({ safe: entry.safeToRepeat, never: entry.neverRepeat });
}

function settleSchedule({
  every,
  catchUp,
  kind = 'task',
  cron,
  timeZone,
  ...schedule
}: NonNullable<ConfigDocument['schedules']>[string]): ScheduleConfig {
  const everyMs = every === undefined ? undefined : parseDuration(every);
  const catchUpMs = catchUp === 'none' ? 0 : catchUp === undefined ? undefined : parseDuration(catchUp);
  return {
    ...schedule,
    kind,
    ...(cron !== undefined && { cron }),
    ...(timeZone !== undefined && { timeZone }),
    ...(everyMs !== undefined && { everyMs }),
    ...(catchUpMs !== undefined && { catchUpMs }),
  };
}

function keptBodies(
  keep: NonNullable<ConfigDocument['broker']>['keepBodies'] = false,
): Pick<Config['broker'], 'keepBodies'> {
  if (keep === false) return {};
  const given = keep === true ? {} : withoutUndefined(keep);
  return { keepBodies: { ...keptByDefault, ...given } };
}
