import type { Command } from 'commander';
import { expect, test } from 'vitest';
import { createProgram } from './program.ts';

/** The groups that do something without a command of theirs, too. */
const actingGroups = ['signalbox approvals', 'signalbox inbox', 'signalbox backup'];

/** Returns every command that does something, by what one types. */
function actions(command: Command, path: string): [string, Command][] {
  const isAction = command.commands.length === 0 || actingGroups.includes(path);
  const children = command.commands.flatMap((child) => actions(child, `${path} ${child.name()}`));
  return isAction ? [[path, command], ...children] : children;
}

function helpOf(command: Command): string {
  let text = '';
  command.configureOutput({
    writeOut: (part) => {
      text += part;
    },
  });
  command.outputHelp();
  return text;
}

const all = actions(await createProgram(), 'signalbox');

test('The acting groups are among the commands.', () => {
  expect(all.map(([path]) => path)).toEqual(expect.arrayContaining(actingGroups));
});

test.each(all)('The help of "%s" has an example that begins so, and names --json.', (path, command) => {
  const help = helpOf(command);
  expect(help).toMatch(new RegExp(`Examples?:\\n(  \\$ .*\\n)*  \\$ ${path}( |$)`, 'm'));
  expect(help).toContain('--json');
});
