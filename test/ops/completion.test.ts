import { expect, test } from 'vitest';
import {
  completingShell,
  completions,
  isInstalled,
  namedCompletions,
  startNamedSystem,
  typedCommand,
} from '../support/cli/completion.ts';

for (const shell of ['zsh', 'fish'] as const) {
  test.skipIf(!isInstalled(shell))(
    `${shell} completes commands, options and choices, each in its place.`,
    async () => {
      await using completing = await completingShell(shell);
      for (const [typed, shown] of completions) {
        expect({ typed, shown: await completing.shown(typed.split(' ')) }).toEqual({ typed, shown });
      }
    },
  );

  test.skipIf(!isInstalled(shell))(`${shell} completes names of the running system.`, async () => {
    await using workspace = await startNamedSystem();
    await using completing = await completingShell(shell);
    const config = ['--config', `${workspace.directory}/signalbox.yaml`];
    for (const [command, end, shown] of namedCompletions) {
      const words = [typedCommand, ...command.split(' '), ...config, ...end.split(' ')];
      await expect.poll(() => completing.shown(words)).toEqual(shown);
    }
  });
}
