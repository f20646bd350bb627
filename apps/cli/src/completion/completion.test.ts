import { expect, test } from 'vitest';
import { createProgram } from '../program.ts';
import { allCommands, commandTree } from './command-tree.ts';
import { completionFor } from './completion.ts';

const program = await createProgram();
const commands = allCommands(commandTree(program));

test.each(['bash', 'zsh', 'fish'] as const)('The completion for %s knows every command.', (shell) => {
  const text = completionFor(shell, program);
  expect(commands.filter(({ path }) => !text.includes(`${path}'`))).toEqual([]);
});

test('Values are files, folders or choices where the definition of an option says so.', () => {
  const issue = commands.find(({ path }) => path === 'signalbox token issue');
  const valueAt = (name: string) => issue?.options.find(({ names }) => names.includes(name))?.value;
  expect(valueAt('--out')).toEqual({ kind: 'file' });
  expect(valueAt('--data')).toEqual({ kind: 'directory' });
  expect(valueAt('--permissions')).toEqual({ kind: 'choice', choices: ['operator', 'observer'] });
  expect(valueAt('--agent')).toEqual({ kind: 'other' });
  expect(valueAt('--json')).toEqual({ kind: 'none' });
});
