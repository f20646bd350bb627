import type { Argument, Command, Option } from 'commander';
import { defaultCommand, firstSentence, summaryOf } from '../help.ts';

/** The things of a running system that have names. */
type NameKind = 'agent' | 'label' | 'role' | 'server' | 'tool';

/** The value that an option or an argument takes, as far as a shell can complete it. */
export type CompletedValue =
  | { kind: 'none' | 'file' | 'directory' | 'other' }
  | { kind: 'choice'; choices: readonly string[] }
  /** Names that the running system has. */
  | { kind: 'names'; of: NameKind };

/** An option as it is completed. */
export interface CompletedOption {
  /** The ways to write it, the long one first, as in `--help` and `-h`. */
  names: readonly string[];
  /** One line. */
  description: string;
  value: CompletedValue;
}

/** A command as it is completed. */
export interface CompletedCommand {
  /** The words by which it is called, as in `signalbox token issue`. */
  path: string;
  /** Its names, the one in its path first. */
  names: readonly string[];
  /** One line. */
  description: string;
  options: readonly CompletedOption[];
  /** The values of its first argument. Further ones are of the same kind, or none that a shell knows. */
  argument: CompletedValue;
  commands: readonly CompletedCommand[];
}

/** Describes a command and those below it. */
export function commandTree(command: Command, above = ''): CompletedCommand {
  const path = `${above}${command.name()}`;
  const help = command.createHelp();
  const [argument] = command.registeredArguments;
  const byDefault = defaultCommand(command);
  const options = [command, ...(byDefault ? [byDefault] : [])].flatMap((one) => help.visibleOptions(one));
  return {
    path,
    names: [command.name(), ...command.aliases()],
    description: summaryOf(command),
    options: [...new Map(options.map((option) => [option.long, completedOption(option)])).values()],
    argument: argument ? completedValue(argument.name(), argument) : { kind: 'none' },
    commands: help.visibleCommands(command).map((child) => commandTree(child, `${path} `)),
  };
}

/** Lists a command and all below it. */
export function allCommands(command: CompletedCommand): CompletedCommand[] {
  return [command, ...command.commands.flatMap(allCommands)];
}

/** A word that leads from one command to another below it. */
export interface Step {
  from: string;
  word: string;
  to: string;
}

/** Lists the words that lead from command to command. */
export function allSteps(program: CompletedCommand): Step[] {
  return allCommands(program).flatMap(({ path: from, commands }) =>
    commands.flatMap(({ names, path: to }) => names.map((word) => ({ from, word, to }))),
  );
}

/** Lists the names of the options of a command that take a value. */
export function valueOptions({ options }: CompletedCommand): string[] {
  return options.filter(({ value }) => value.kind !== 'none').flatMap(({ names }) => names);
}

function completedOption(option: Option): CompletedOption {
  const names = [option.long, option.short].flatMap((name) => name ?? []);
  const placeholder = /[<[]([\w-]+)(?:\.\.\.)?[>\]]/.exec(option.flags)?.[1];
  return {
    names,
    description: firstSentence(option.description),
    value: placeholder === undefined ? { kind: 'none' } : completedValue(placeholder, option),
  };
}

const named = new Map<string, NameKind>([
  ['agent', 'agent'],
  ['to', 'agent'],
  ['label', 'label'],
  ['role', 'role'],
  ['server', 'server'],
  ['tool', 'tool'],
]);

/** The names of placeholders say which values are files, folders and names of the running system. */
function completedValue(
  placeholder: string,
  { argChoices }: Pick<Option | Argument, 'argChoices'>,
): CompletedValue {
  if (argChoices) return { kind: 'choice', choices: argChoices };
  const of = named.get(placeholder);
  if (of) return { kind: 'names', of };
  if (placeholder === 'file') return { kind: 'file' };
  return { kind: ['dir', 'directory'].includes(placeholder) ? 'directory' : 'other' };
}
