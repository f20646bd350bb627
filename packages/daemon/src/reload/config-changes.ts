import { isDeepStrictEqual } from 'node:util';
import type { Config } from '../config/index.ts';
import { roleLimits, sendPolicies } from '../policy/broker-policies.ts';

/** The names that were added or removed, and those whose entry changed. */
export interface NameChanges {
  added: string[];
  removed: string[];
  changed: string[];
}

/**
 * Lists the roles whose tools, mailbox or budgets changed. `send` and `limits` are left out, because the broker reads them at its start.
 */
export function roleChanges(before: Config, after: Config): NameChanges {
  const ofOrchestrator = ({ roles }: Config) =>
    Object.fromEntries(
      Object.entries(roles).map(([role, { send: _send, limits: _limits, ...entry }]) => [role, entry]),
    );
  return nameChanges(ofOrchestrator(before), ofOrchestrator(after));
}

/** Lists the keys outside of servers and roles that changed and can be put in force at once. */
export function policyChanges(before: Config, after: Config): string[] {
  return differing(before, after, {
    unlisted: ({ unlisted }) => unlisted,
    'approvals.deadlineMs': ({ approvals }) => approvals.deadlineMs,
    'approvals.notify': ({ approvals }) => approvals.notify,
    'orchestrator.budgets': ({ orchestrator }) => orchestrator.budgets,
    'orchestrator.safeToRepeat': ({ orchestrator }) => orchestrator.repeat.safe,
    'orchestrator.neverRepeat': ({ orchestrator }) => orchestrator.repeat.never,
    'safeToRepeat or neverRepeat of servers': ({ serverRepeat }) => serverRepeat,
  });
}

/** Lists the keys that changed and can be put in force at once. */
export function changedKeys(before: Config, after: Config): string[] {
  const roles = Object.values(roleChanges(before, after)).flat();
  return [
    ...changedNames(before.mcpServers, after.mcpServers).map((server) => `mcpServers.${server}`),
    ...roles.map((role) => `roles.${role}`),
    ...policyChanges(before, after),
  ];
}

/** Lists the keys that have changed since the start of the process and take effect after a restart only. */
export function restartNeeds(started: Config, now: Config): string[] {
  return [
    ...differing(started, now, {
      'broker.listen': ({ broker }) => broker.listen,
      'broker.socket': ({ broker }) => broker.socket,
      'broker.data': ({ broker }) => broker.data,
      'broker.durability': ({ broker }) => broker.durability,
      'broker.metrics': ({ broker }) => broker.metrics,
      'broker.tls': ({ broker }) => broker.tls,
      'broker.trustedOrigins': ({ broker }) => broker.trustedOrigins,
      'broker.keepBodies': ({ broker }) => broker.keepBodies,
      'broker.limits': ({ broker }) => broker.limits,
      'orchestrator.id': ({ orchestrator }) => orchestrator.id,
      'orchestrator.listen': ({ orchestrator }) => orchestrator.listen,
      'orchestrator.concurrency': ({ orchestrator }) => orchestrator.concurrency,
      'orchestrator.lane': ({ orchestrator }) => orchestrator.lane,
      'orchestrator.callTimeoutMs': ({ orchestrator }) => orchestrator.callTimeoutMs,
      'orchestrator.limits.calls': ({ orchestrator }) => orchestrator.limits.calls,
      'orchestrator.limits.journal': ({ orchestrator }) => orchestrator.limits.journal,
      'orchestrator.limits.results': ({ orchestrator }) => orchestrator.limits.results,
      'orchestrator.maxProcesses': ({ orchestrator }) => orchestrator.maxProcesses,
      'worker.http': ({ worker }) => worker.http,
      'worker.limits': ({ worker }) => worker.limits,
      a2a: ({ a2a }) => a2a,
      allowHosts: ({ allowHosts }) => allowHosts,
      capabilities: ({ capabilities }) => capabilities,
    }),
    ...changedNames(sendPolicies(started.roles), sendPolicies(now.roles)).map((role) => `roles.${role}.send`),
    ...changedNames(roleLimits(started.roles), roleLimits(now.roles)).map((role) => `roles.${role}.limits`),
  ];
}

/** Lists the keys that changed and that the broker puts in force at SIGHUP. */
export function hangupNeeds(before: Config, now: Config): string[] {
  return differing(before, now, {
    auth: ({ auth }) => auth,
    groups: ({ groups }) => groups,
    hooks: ({ hooks }) => hooks,
    schedules: ({ schedules }) => schedules,
  });
}

function changedNames(before: Record<string, unknown>, after: Record<string, unknown>): string[] {
  const { added, removed, changed } = nameChanges(before, after);
  return [...added, ...removed, ...changed];
}

/** Describes changes for people, servers first; empty if nothing changed. */
export function changeLines(changes: {
  servers: NameChanges;
  roles: NameChanges;
  policy: readonly string[];
}): string[] {
  return [
    ...namedLines('server', changes.servers),
    ...namedLines('role', changes.roles),
    ...(changes.policy.length > 0 ? [`changed: ${changes.policy.join(', ')}`] : []),
  ];
}

function namedLines(noun: string, changes: NameChanges): string[] {
  return (['added', 'removed', 'changed'] as const).flatMap((how) => {
    const names = changes[how];
    if (names.length === 0) return [];
    return [`${noun}${names.length === 1 ? '' : 's'} ${how}: ${names.join(', ')}`];
  });
}

function differing(
  before: Config,
  after: Config,
  parts: Record<string, (config: Config) => unknown>,
): string[] {
  return Object.entries(parts)
    .filter(([, read]) => !isDeepStrictEqual(read(before), read(after)))
    .map(([key]) => key);
}

/** Compares two sets of named entries. */
export function nameChanges(before: Record<string, unknown>, after: Record<string, unknown>): NameChanges {
  return {
    added: Object.keys(after).filter((name) => !Object.hasOwn(before, name)),
    removed: Object.keys(before).filter((name) => !Object.hasOwn(after, name)),
    changed: Object.keys(after).filter(
      (name) => Object.hasOwn(before, name) && !isDeepStrictEqual(before[name], after[name]),
    ),
  };
}
