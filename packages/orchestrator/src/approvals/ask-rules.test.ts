import type { Tool } from '@signalbox/protocol';
import { expect, test, vi } from 'vitest';
import { type AskRule, explainAsk, matchingRules, mayAsk } from './ask-rules.ts';

function toolOf(name: string, annotations?: Tool['annotations']): Tool {
  return { name, inputSchema: { type: 'object' }, ...(annotations && { annotations }) };
}

const write = { tool: toolOf('mcp_files__write'), origin: { server: 'files', tool: 'write' } };

function ruleFor(ask: AskRule[], args: Record<string, unknown> = {}, tool = write) {
  return matchingRules({ roles: { builder: ask } }, 'builder', tool, args).asks;
}

test('the first rule that matches a call has it wait, and is named by its place', () => {
  expect(ruleFor(['mcp_web__*', 'files:*', '*'])).toBe('roles.builder.ask[1]');
  expect(ruleFor(['mcp_web__*'])).toBeUndefined();
});

test('the rules of one role say nothing of another, also of one that is named like a property of objects', () => {
  const roles = { builder: ['*'] };
  expect(matchingRules({ roles }, 'reader', write, {}).asks).toBeUndefined();
  expect(matchingRules({ roles }, 'constructor', write, {}).asks).toBeUndefined();
});

test('annotations: destructive means every tool that its server does not declare harmless', () => {
  const rule: AskRule[] = [{ annotations: 'destructive' }];
  const waits = (annotations?: Tool['annotations']) =>
    ruleFor(rule, {}, { ...write, tool: toolOf('mcp_files__write', annotations) }) !== undefined;
  expect(waits()).toBe(true);
  expect(waits({ destructiveHint: true })).toBe(true);
  expect(waits({ readOnlyHint: false })).toBe(true);
  expect(waits({ destructiveHint: false })).toBe(false);
  expect(waits({ readOnlyHint: true })).toBe(false);
});

test('both the tool and the annotations of a rule must match', () => {
  const rule: AskRule[] = [{ tool: 'mcp_web__*', annotations: 'destructive' }];
  expect(ruleFor(rule)).toBeUndefined();
});

test.each([
  ['/srv/prod/app', true],
  ['/srv/prod/a/b', true],
  ['/srv/prod', true],
  ['/srv//prod/./app', true],
  ['/srv/test/../prod/app', true],
  ['/srv/test/app', false],
  ['/srv/prod-like/app', false],
  [['/tmp/x', '/srv/prod/app'], true],
  [{ from: '/srv/prod/app' }, true],
  ['["/tmp/x", "/srv/prod/app"]', true],
  [' {"from": "/srv/prod/app"}', true],
  ['["/srv/test/app"]', false],
  ['["/srv/prod/app"', true],
  ['[NaN,"/srv/prod/app"]', true],
  [' {"from": /srv/prod/app}', true],
  [`${'['.repeat(300)}"/srv/prod/app"${']'.repeat(300)}`, true],
  [['/tmp/x', '[NaN]'], true],
  ['NaN,["/srv/prod/app"]', false],
  ['{"from":"/srv/prod/app","from":"/srv/test/app"}', true],
  ['[{"from":"/srv/test/app","\\u0066rom":"/srv/test/app"}]', true],
  ['[{"from":"/srv/test/app"},{"from":"a: b","b":{"from":""}}]', false],
  [undefined, false],
])('when: { path: /srv/prod/** } matches the value %j: %j', (path, expected) => {
  const rule: AskRule[] = [{ tool: '*', when: { path: '/srv/prod/**' } }];
  expect(ruleFor(rule, { path }) !== undefined).toBe(expected);
});

test('every argument that a rule names must match, with one of its patterns, and dots lead into objects', () => {
  const rule: AskRule[] = [{ tool: '*', when: { 'target.env': ['prod', 'live-*'], force: 'true' } }];
  expect(ruleFor(rule, { target: { env: 'live-2' }, force: true })).toBe('roles.builder.ask[0]');
  expect(ruleFor(rule, { 'target.env': 'prod', force: 'true' })).toBe('roles.builder.ask[0]');
  expect(ruleFor(rule, { target: [{ env: 'test' }, [{ env: 'prod' }]], force: true })).toBe(
    'roles.builder.ask[0]',
  );
  expect(ruleFor(rule, { target: '{"env":"prod"}', force: true })).toBe('roles.builder.ask[0]');
  expect(ruleFor(rule, { target: [{ env: 'test' }], force: true })).toBeUndefined();
  expect(ruleFor(rule, { target: { env: 'live-2' } })).toBeUndefined();
  expect(ruleFor(rule, { target: { env: 'test' }, force: true })).toBeUndefined();
});

test('a text that no rule can read matches a pattern on a field in it, and no pattern on another argument', () => {
  const rule: AskRule[] = [{ tool: '*', when: { 'target.env': 'prod' } }];
  expect(ruleFor(rule, { target: '{"env": prod}' })).toBe('roles.builder.ask[0]');
  expect(ruleFor(rule, { target: [{ env: 'test' }, '[NaN'] })).toBe('roles.builder.ask[0]');
  expect(ruleFor(rule, { target: { env: 'test' }, note: '[NaN' })).toBeUndefined();
});

test('many rules read each JSON text once, also those that deny a call with hidden values', () => {
  const parse = vi.spyOn(JSON, 'parse');
  const rule: AskRule[] = Array.from({ length: 8 }, (_, n) => ({
    when: { paths: [`/a${n}/*`, `/b${n}/*`] },
    ...(n > 4 && { hidden: 'deny' }),
  }));
  const paths = Array.from({ length: 200_000 }, (_, n) => (n % 2 === 0 ? '[1]' : '["/tmp"]'));
  const rules = matchingRules({ roles: { builder: rule } }, 'builder', write, { paths });
  expect([rules.asks, rules.deniesHidden()]).toEqual([undefined, undefined]);
  expect(parse).toHaveBeenCalledTimes(2);
  parse.mockRestore();
});

test('a long text inside texts inside texts is not parsed to its end', () => {
  let path = 'x'.repeat(500_000);
  for (let layer = 0; layer < 12; layer++) path = JSON.stringify([path]);
  const parse = vi.spyOn(JSON, 'parse');
  expect(ruleFor([{ when: { path: '/srv/*' } }], { path })).toBe('roles.builder.ask[0]');
  expect(parse.mock.calls.length).toBeLessThan(10);
  parse.mockRestore();
});

test('arguments that take too many steps to compare match the rules that look at them, and no others', () => {
  const parse = vi.spyOn(JSON, 'parse');
  const rule: AskRule[] = [{ when: { force: 'true' } }, { when: { paths: '/srv/*' } }];
  const paths = Array.from({ length: 100_000 }, (_, n) => `[${n}]`);
  expect(ruleFor(rule, { paths })).toBe('roles.builder.ask[1]');
  expect(parse.mock.calls.length).toBeLessThan(50_000);
  parse.mockRestore();
  expect(ruleFor([{ when: { paths: '/srv/*', force: 'true' } }], { paths })).toBeUndefined();
  const texts = Array.from({ length: 50_000 }, (_, n) => `/tmp/${n}`);
  const many: AskRule[] = Array.from({ length: 8 }, (_, n) => ({ when: { texts: `/srv/${n}/*` } }));
  expect(ruleFor(many.slice(0, 3), { texts })).toBeUndefined();
  expect(ruleFor(many, { texts })).toBe('roles.builder.ask[4]');
});

test('without arguments a rule on argument values says that it depends on them', () => {
  const roles = { builder: [{ tool: '*', when: { path: '/srv/*' } }, 'mcp_web__*'] };
  const asks = (args: Record<string, unknown>) => matchingRules({ roles }, 'builder', write, args).asks;
  expect(explainAsk({ roles }, 'builder', write)).toMatchObject({
    ask: 'by_arguments',
    rule: 'roles.builder.ask[0]',
  });
  expect(asks({ path: '/srv/x' })).toBe('roles.builder.ask[0]');
  expect(asks({ path: '/tmp' })).toBeUndefined();
  expect(explainAsk({ roles }, 'reader', write)).toEqual({ ask: 'no' });
  expect(mayAsk({ roles }, 'builder', write)).toBe(true);
  expect(mayAsk({ roles }, 'reader', write)).toBe(false);
});
