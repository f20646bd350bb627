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

const day = 24 * 3_600_000;

test.each([
  ['rosa', 'researcher', 30 * day - 20, '--agent rosa --role researcher'],
  ['rosa', 'researcher', 7 * day, '--agent rosa --role researcher --ttl 7d'],
  ['operator.alice', 'operator', 30 * day, '--operator --name alice --ttl 30d'],
  ['operator.alice', 'operator', 8 * 3_600_000, '--operator --name alice --ttl 8h'],
  ['operator.alice', 'operator', 90 * 60_000, '--operator --name alice --ttl 90m'],
])(
  'A token of %s in the role %s is renewed for as long as it was issued, %s ms.',
  (agent, role, lifetimeMs, options) => {
    expect(renewalCommand({ agent, role, lifetimeMs })).toBe(`signalbox token issue ${options}`);
  },
);
