import { Command, Help, type HelpConfiguration } from 'commander';
import { connectionHeading, withConnectionOptions } from './command-options.ts';

/** Returns the first sentence of a description of an option. */
export function firstSentence(text: string): string {
  return text
    .split(/(?<=\.) |; |\n/)[0]!
    .replace(/\.$/, '')
    .trim();
}

/** Returns what a list of commands says about one. Its own help says the rest. */
export function summaryOf(command: Command): string {
  return firstSentence(command.description()).split(': ')[0]!;
}

/** Returns the command of a group that shows what the group is about: the group alone does that. */
export function defaultCommand({ commands }: Command): Command | undefined {
  const shows = (name: string) =>
    commands.find(
      (command) => command.name() === name && !command.registeredArguments.some(({ required }) => required),
    );
  return shows('list') ?? shows('show') ?? shows('check');
}

/** Gives a command and all below it the same form of help. The help of the program also lists the options that name the broker. */
export function shapeHelp(program: Command): Command {
  program.configureHelp({ ...shape, formatHelp: programHelp });
  for (const command of program.commands) shapeBelow(command);
  return program;
}

function shapeBelow(command: Command): void {
  command.configureHelp(shape);
  for (const child of command.commands) shapeBelow(child);
}

const shape: HelpConfiguration = {
  // Commands add their options in any order.
  groupItems: (unsorted, visible, groupOf) => {
    const groups = Help.prototype.groupItems(unsorted, visible, groupOf);
    const connection = groups.get(connectionHeading);
    if (!connection) return groups;
    groups.delete(connectionHeading);
    return groups.set(connectionHeading, connection);
  },
  subcommandTerm: (command) => Help.prototype.subcommandTerm(command).replace(' [options]', ''),
  subcommandDescription: (command) =>
    command.parent && defaultCommand(command.parent) === command
      ? `${summaryOf(command)} (default)`
      : summaryOf(command),
  // "signalbox help up" works; that each command has its own help, the text below the list says.
  visibleCommands: (command) =>
    Help.prototype.visibleCommands(command).filter((child) => child.name() !== 'help'),
};

function programHelp(program: Command, help: Help): string {
  const width = help.padWidth(program, help);
  const items = withConnectionOptions(new Command()).options.map((option) =>
    help.formatItem(help.optionTerm(option), width, help.optionDescription(option), help),
  );
  const heading = 'Connection, for each command that talks to a broker:';
  return [
    Help.prototype.formatHelp.call(help, program, help),
    ...help.formatItemList(heading, items, help),
  ].join('\n');
}
