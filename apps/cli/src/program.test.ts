import type { Command } from 'commander';
import { expect, test } from 'vitest';
import { createProgram } from './program.ts';

/** Every command that does something, by what one types. */
function leaves(command: Command, path: string): [string, Command][] {
  if (command.commands.length === 0) return [[path, command]];
  return command.commands.flatMap((child) => leaves(child, `${path} ${child.name()}`));
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

test.each(leaves(await createProgram(), 'signalbox'))(
  'The help of "%s" has an example that begins so.',
  (path, command) => {
    expect(helpOf(command)).toMatch(new RegExp(`Examples?:\\n(  \\$ .*\\n)*  \\$ ${path}( |$)`, 'm'));
  },
);
