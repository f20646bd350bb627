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
    `${shell} offers commands, options and choices, each in its place.`,
    async () => {
      await using completing = await completingShell(shell);
      for (const [typed, offered] of completions) {
        expect({ typed, offered: await completing.offered(typed.split(' ')) }).toEqual({ typed, offered });
      }
    },
  );

  test.skipIf(!isInstalled(shell))(`${shell} offers names of the running system.`, async () => {
    await using workspace = await startNamedSystem();
    await using completing = await completingShell(shell);
    const config = ['--config', `${workspace.directory}/signalbox.yaml`];
    for (const [command, end, offered] of namedCompletions) {
      const words = [typedCommand, ...command.split(' '), ...config, ...end.split(' ')];
      await expect.poll(() => completing.offered(words)).toEqual(offered);
    }
  });
}
