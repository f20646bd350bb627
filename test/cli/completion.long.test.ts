import { expect, test } from 'vitest';
import {
  completingShell,
  namedCompletions,
  startNamedSystem,
  typedCommand,
} from '../support/cli/completion.ts';

test('bash shows the names of agents, roles, servers and tools of the running system.', async () => {
  await using workspace = await startNamedSystem();
  await using bash = await completingShell('bash');
  const config = ['--config', `${workspace.directory}/signalbox.yaml`];
  for (const [command, end, shown] of namedCompletions) {
    const words = [typedCommand, ...command.split(' '), ...config, ...end.split(' ')];
    // On a busy machine the second is over before the first answer.
    await expect.poll(() => bash.shown(words)).toEqual(shown);
  }
});
