import { expect, it } from 'vitest';
import { agentOf, isAddress, isNamedOperator, isOperator, isReservedName, parseAddress } from './address.ts';

it('reads agent ids and sub-inboxes, and nothing else', () => {
  expect(parseAddress('alice')).toEqual({ agent: 'alice' });
  expect(parseAddress('a.b-c_1#mcp-X_y')).toEqual({ agent: 'a.b-c_1', sub: 'mcp-X_y' });
  for (const text of [
    '',
    'Alice',
    '-a',
    'a b',
    'a#',
    '#x',
    'a#b#c',
    'a\n',
    'a#x\n',
    'a#x#',
    `a#${'x'.repeat(65)}`,
    'ä',
    'a'.repeat(129),
    '../a',
    'a/b',
  ]) {
    expect(parseAddress(text), text).toBeUndefined();
    expect(isAddress(text), text).toBe(false);
  }
  for (const text of ['a'.repeat(128), `${'a'.repeat(128)}#${'X'.repeat(64)}`, '0#.']) {
    expect(parseAddress(text), text).toBeDefined();
    expect(isAddress(text), text).toBe(true);
  }
  expect(agentOf('alice#mcp-1')).toBe('alice');
});

it('sees through separators in reserved names', () => {
  for (const name of [
    'orchestrator',
    'o_r-c.hestrator',
    'sys.tem',
    'operator.alice',
    'op_erator-alice',
    'orchestrator.gpu',
  ])
    expect(isReservedName(name), name).toBe(true);
  for (const name of ['orchestrator2', 'my-system', 'alice']) expect(isReservedName(name), name).toBe(false);
});

it('knows the names of operators', () => {
  for (const name of ['operator.alice', 'operator.a_b-2']) expect(isNamedOperator(name), name).toBe(true);
  for (const name of [
    'operator',
    'operator.',
    'operator.a.b',
    'operator-alice',
    `operator.${'a'.repeat(65)}`,
  ])
    expect(isNamedOperator(name), name).toBe(false);
  for (const name of ['operator', 'human', 'operator.alice']) expect(isOperator(name), name).toBe(true);
  for (const name of ['operator.', 'operators', 'alice']) expect(isOperator(name), name).toBe(false);
});
