import { expect, test } from 'vitest';
import { completingShell, completions } from '../support/cli/completion.ts';

test('bash offers commands, options, choices, files and folders, each in its place.', async () => {
  await using bash = await completingShell('bash');
  const paths = [
    ['signalbox up --config my', ['my config.yaml', 'my folder']],
    ['signalbox up --data my', ['my folder']],
    ['signalbox config check my', ['my config.yaml', 'my folder']],
  ] as const;
  for (const [typed, offered] of [...completions, ...paths]) {
    expect({ typed, offered: await bash.offered(typed.split(' ')) }).toEqual({ typed, offered });
  }
});
