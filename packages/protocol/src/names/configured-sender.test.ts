import { expect, test } from 'vitest';
import { isReservedName } from './address.ts';
import { configuredSender, configuredSenderName, isConfiguredSender } from './configured-sender.ts';

test('Names whose first segment is hook or schedule are reserved, and longer words are not.', () => {
  for (const name of [
    'hook',
    'hook.github',
    'hook_x',
    'hook-',
    'schedule',
    'schedule.nightly',
    'schedule-1.x',
  ]) {
    expect(isConfiguredSender(name), name).toBe(true);
    expect(isReservedName(name), name).toBe(true);
  }
  for (const name of ['hooker', 'hooks.github', 'my.hook', 'schedules', 'scheduler-1', 'a-schedule']) {
    expect(isConfiguredSender(name), name).toBe(false);
    expect(isReservedName(name), name).toBe(false);
  }
});

test('A configured sender has a name without further segments, and its agent id says its role.', () => {
  expect(configuredSender('hook', 'github')).toEqual({
    agent: 'hook.github',
    address: 'hook.github',
    role: 'hook',
  });
  for (const name of ['a', '0-a', 'a'.repeat(32)]) expect(name).toMatch(configuredSenderName);
  for (const name of ['', '-a', 'A', 'a.b', 'a_b', 'a/b', 'a\n', 'a'.repeat(33)])
    expect(name).not.toMatch(configuredSenderName);
});
