import { expect, test } from 'vitest';
import { completingShell, completions, isInstalled } from '../support/cli/completion.ts';

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
}
