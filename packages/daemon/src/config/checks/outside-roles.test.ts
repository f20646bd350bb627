import { expect, test } from 'vitest';
import { builtInConfig, type Config } from '../config.ts';
import { outsideRoles } from './outside-roles.ts';

const rosa = { to: 'rosa', name: 'rosa', description: 'answers', skills: [] };
const crew = { ...rosa, to: 'role:crew' };

function warningsOf(roles: Config['roles'], unlisted: Config['unlisted'] = 'deny'): string[] {
  const { a2a: _, ...config } = builtInConfig();
  const a2a = {
    listen: { host: '127.0.0.1', port: 7430 },
    agents: { rosa, crew },
    roles: ['outside'],
    ...{ keepMs: 1, deadlineMs: 1, limits: {} },
  };
  return outsideRoles({ ...config, roles, unlisted, a2a }, 'signalbox.yaml');
}

test('A role of callers from outside that may only ask the listed agents is right.', () => {
  expect(warningsOf({ outside: { tools: [], send: { to: ['rosa', 'role:crew'], kinds: ['ask'] } } })).toEqual(
    [],
  );
  expect(warningsOf({ outside: { tools: [], send: { to: ['rosa'], kinds: ['ask'] } } })).toEqual([]);
});

test('Every further right of such a role is named.', () => {
  const wanted = 'write roles.outside: { tools: [], send: { to: [rosa, "role:crew"], kinds: [ask] } }';
  const send = { to: ['*'], kinds: ['ask', 'note'] };
  expect(warningsOf({ outside: { tools: ['x'], prompts: ['y'], resources: ['z:z'], send } })).toEqual([
    `signalbox.yaml: a2a.roles: callers from outside with the role 'outside' may use tools, and use prompts, and read resources, and write to *, and send messages of kind note; ${wanted}`,
  ]);
  expect(warningsOf({ outside: { tools: [] } })).toEqual([
    expect.stringContaining('may write to every agent;'),
  ]);
  expect(warningsOf({}, 'allow')).toEqual([
    expect.stringContaining('may use every tool, and write to every agent;'),
  ]);
});
