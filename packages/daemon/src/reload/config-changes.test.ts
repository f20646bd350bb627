import { expect, test } from 'vitest';
import type { Config, ConfigDocument } from '../config/index.ts';
import { settleConfig } from '../config/internal.ts';
import { commonPolicy } from '../policy/policy.ts';
import { changeLines, hangupNeeds, policyChanges, restartNeeds, roleChanges } from './config-changes.ts';

function configOf(document: ConfigDocument): Config {
  return settleConfig(document, { files: {}, directory: '/etc', servers: {}, leftOut: [], warnings: [] });
}

test('Changes are listed by name; a change of the messages that a role may send needs a restart, as the broker enforces it.', () => {
  const before = configOf({ roles: { a: { tools: [] }, b: { tools: ['x'] }, c: { tools: [] } } });
  const after = configOf({
    roles: { b: { tools: ['y'] }, c: { tools: [], send: { to: [], kinds: [] } }, d: { tools: [] } },
    orchestrator: { neverRepeat: ['x'] },
    unlisted: 'allow',
  });
  const roles = roleChanges(before, after);
  expect(roles).toEqual({ added: ['d'], removed: ['a'], changed: ['b'] });
  const servers = { added: ['docs', 'web'], removed: [], changed: [] };
  expect(changeLines({ servers, roles, policy: policyChanges(before, after) })).toEqual([
    'servers added: docs, web',
    'role added: d',
    'role removed: a',
    'role changed: b',
    'changed: unlisted, orchestrator.neverRepeat',
  ]);
  expect(restartNeeds(before, after)).toEqual(['roles.c.send']);
  expect(restartNeeds(after, after)).toEqual([]);
});

test('Every changed key that a running process cannot take over is listed.', () => {
  const after = configOf({
    broker: {
      ...{ listen: '127.0.0.1:1', data: 'x', durability: 'process', metrics: 'open' },
      ...{ tls: { cert: 'c', key: 'k' }, trustedOrigins: ['https://x'] },
      limits: { rates: { messages: 1 } },
    },
    roles: { a: { tools: [], limits: { rates: { messages: 2 } } } },
    orchestrator: {
      id: 'o',
      listen: '127.0.0.1:1',
      concurrency: { global: 1 },
      callTimeoutMs: 1,
      maxProcesses: 1,
      limits: { journal: { calls: 1000 } },
    },
    worker: { http: '127.0.0.1:2', limits: { agents: 1 } },
    a2a: { agents: { rosa: { description: 'answers' } }, roles: ['outside'] },
    groups: { press: { roles: ['a'] } },
    allowHosts: ['x'],
    capabilities: 'x',
  });
  expect(restartNeeds(configOf({}), after)).toEqual([
    'broker.listen',
    'broker.data',
    'broker.durability',
    'broker.metrics',
    'broker.tls',
    'broker.trustedOrigins',
    'broker.limits',
    'orchestrator.id',
    'orchestrator.listen',
    'orchestrator.concurrency',
    'orchestrator.callTimeoutMs',
    'orchestrator.limits.journal',
    'orchestrator.maxProcesses',
    'worker.http',
    'worker.limits',
    'a2a',
    'allowHosts',
    'capabilities',
    'roles.a.limits',
  ]);
});

test('A change of groups, webhooks or schedules is put in force at SIGHUP.', () => {
  const after = configOf({
    groups: { press: { roles: ['a'] } },
    hooks: { ci: { to: 'rosa', secret: 'abcdefghijklmnop', signature: 'bearer' } },
    schedules: { tick: { every: '1h', to: 'rosa', text: 'look' } },
  });
  expect(hangupNeeds(configOf({}), after)).toEqual(['groups', 'hooks', 'schedules']);
  expect(hangupNeeds(after, after)).toEqual([]);
});

test('Between two configurations nobody may do what only one of them allows.', () => {
  const before = configOf({ roles: { a: { tools: ['*'] }, b: { tools: ['x', 'y'] } }, unlisted: 'allow' });
  const after = configOf({ roles: { a: { tools: ['z'] }, b: { tools: ['y', 'w'] }, c: { tools: ['v'] } } });
  const { allowlist: common } = commonPolicy(before, after, []);
  expect([...common.entries()]).toEqual([
    ['a', ['z']],
    ['b', ['y']],
    ['c', ['v']],
    ['operator', ['*']],
  ]);
  expect(common.allows('unknown', 'x')).toBe(false);
});

test('Between two configurations nobody may read or be prompted by what only one of them allows.', () => {
  const role = (prompts: string[], resources: string[]) => ({ tools: [], prompts, resources });
  const before = configOf({ roles: { a: role(['*'], ['*:*']), b: role(['x', 'y'], ['f:x:*', 'f:y:*']) } });
  const after = configOf({
    roles: { a: role(['z'], ['f:z']), b: role(['y', 'w'], ['f:y:*']), c: role(['*'], []) },
  });
  const { mcpContent: common } = commonPolicy(before, after, []);
  const prompts = (name: string) =>
    ['w', 'x', 'y', 'z'].filter((prompt) => common.allowsPrompt(name, prompt, undefined));
  expect([prompts('a'), prompts('b'), prompts('c')]).toEqual([['z'], ['y'], []]);
  expect(common.allowsResource('a', 'f', 'z')).toBe(true);
  expect(common.allowsResource('b', 'f', 'y:1')).toBe(true);
  expect(common.allowsResource('b', 'f', 'x:1')).toBe(false);
});

test('Between two configurations a call is repeated only if both of them allow it.', () => {
  const before = configOf({ orchestrator: { safeToRepeat: ['x', 'y'], neverRepeat: ['z'] } });
  const after = configOf({ orchestrator: { safeToRepeat: ['y', 'w'], neverRepeat: ['v'] } });
  expect(commonPolicy(before, after, []).repeat).toEqual({ safe: ['y'], never: ['z', 'v'] });
});
