import type { Command } from 'commander';
import { expect, test } from 'vitest';
import { createProgram } from './program.ts';
import { usualWords } from './wrong-line.ts';

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

test.each(all)('The help of "%s" shows the options that it takes, and no others.', (_, command) => {
  const shown = helpOf(command).match(/^ {2}(-\w, )?--[\w-]+(, --[\w-]+)?/gm) ?? [];
  const names = shown.flatMap((line) => line.match(/--[\w-]+/g) ?? []).filter((name) => name !== '--help');
  const taken = command.options
    .flatMap(({ short, long }) => [short, long])
    .filter((name) => name?.startsWith('--'));
  expect(names.toSorted()).toEqual(taken.toSorted());
});

/** Lists what one may type after the name of a command, and after those of all above it. */
function typed(command: Command): string[] {
  const below = command.commands.flatMap((child) => [
    child.name(),
    ...typed(child).map((rest) => `${child.name()} ${rest}`),
  ]);
  return [...below, ...command.commands.flatMap(typed)];
}

test('Usual words are no commands of ours, and lead to some.', async () => {
  const program = await createProgram();
  const known = typed(program);
  expect(
    Object.values(usualWords)
      .flat()
      .filter((name) => !known.includes(name)),
  ).toEqual([]);
  const own = program.commands.map((command) => command.name());
  expect(Object.keys(usualWords).filter((word) => own.includes(word))).toEqual([]);
});
