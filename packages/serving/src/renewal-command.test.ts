import { expect, test } from 'vitest';
import { renewalCommand } from './renewal-command.ts';

test.each([
  ['rosa', 'researcher', '--agent rosa --role researcher'],
  ['ci-*', 'builder', "--agent 'ci-*' --role builder"],
  ['operator.alice', 'operator', '--operator --name alice'],
  ['operator.metrics', 'observer', '--operator --name metrics --permissions observer'],
])('A token of %s in the role %s is renewed by asking for it again.', (agent, role, options) => {
  expect(renewalCommand({ agent, role })).toBe(`signalbox token issue ${options}`);
});
