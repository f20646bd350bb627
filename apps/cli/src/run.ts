import { type Command, CommanderError } from 'commander';
import { createProgram } from './program.ts';

/** A command line that cannot be read, with a hint at the help that shows the right form. */
class CommandLineError extends Error {
  override readonly name = 'CommandLineError';
  readonly hint: string;
  readonly help: string | undefined;

  constructor(message: string, hint: string, help?: string) {
    super(message);
    this.hint = hint;
    this.help = help;
  }
}

/** Runs one command line and returns its exit code. Never rejects: each failure is printed where the caller looks for it. */
export async function run(argv: readonly string[]): Promise<number> {
  const program = await createProgram(argv[0]);
  prepare(program, 'signalbox');
  program.hook('preAction', (_, command) => refuseEmptyOptions(command));
  try {
    await program.parseAsync(argv, { from: 'user' });
    return Number(process.exitCode ?? 0);
  } catch (error) {
    return error instanceof CommanderError ? 0 : await reportFailure(error, argv);
  }
}

/** Makes commander throw instead of printing and exiting, for every command. `path` is how the command is typed. */
function prepare(command: Command, path: string): void {
  let written = '';
  command.configureOutput({
    writeErr: (text) => {
      written += text;
    },
  });
  command.exitOverride((error) => {
    if (error.exitCode === 0) throw error;
    throw error.code === 'commander.help'
      ? new CommandLineError('no command given', seeHelp(path), written)
      : new CommandLineError(usageText(error.message), `${cureOf(error.code, command)}${seeHelp(path)}`);
  });
  for (const child of command.commands) prepare(child, `${path} ${child.name()}`);
}

/** Refuses an empty value, which is an unset variable of a shell and would be a wrong folder or name. */
function refuseEmptyOptions(command: Command): void {
  const empty = command.options.find((option) => command.opts()[option.attributeName()] === '');
  if (!empty) return;
  throw new CommandLineError(`option '${empty.flags}' is empty`, seeHelp(pathOf(command)));
}

function pathOf(command: Command): string {
  return command.parent ? `${pathOf(command.parent)} ${command.name()}` : command.name();
}

function seeHelp(path: string): string {
  return `see: ${path} --help`;
}

/** Says what was probably meant by a command line that commander refuses. */
function cureOf(code: string, command: Command): string {
  if (code === 'commander.unknownOption') return 'an argument that begins with - goes last, after --; ';
  if (code !== 'commander.excessArguments') return '';
  if (command.registeredArguments.length > 0)
    return 'quote a text of several words; after -- come arguments only, no options; ';
  const [first = ''] = command.args;
  const takesAgent = command.options.some(({ long }) => long === '--agent');
  return takesAgent ? `if '${first}' is an agent, write --agent ${first}; ` : 'it takes options only; ';
}

/** Writes commander's message in our own form: on one line, with the suggestion in brackets. */
function usageText(message: string): string {
  return message
    .replace(/^error: /, '')
    .replace(/^missing required (argument '.+')$/, '$1 is missing')
    .replace(/^required (option '.+') not specified$/, '$1 is missing')
    .replace(
      /^command-argument value '(.*)' is invalid for argument '(.+)'\. /s,
      "argument '$2' can't be '$1'. ",
    )
    .replace(/\n\(Did you mean (one of )?(.+)\?\)$/s, (_, oneOf: string | undefined, names: string) =>
      oneOf ? ` (did you mean one of ${names}?)` : ` (did you mean '${names}'?)`,
    );
}

/** Reports a failure, with further failures that occurred while the command ended. Returns the exit code. */
export async function reportFailure(thrown: unknown, argv: readonly string[]): Promise<number> {
  const [{ failuresOf, messageOf, SignalboxError }, supervisor, { failureText }, { exitCodeOf }] =
    await Promise.all([
      import('@signalbox/protocol/signalbox-error'),
      import('@signalbox/daemon/supervisor'),
      import('./terminal/failure-text.ts'),
      import('./terminal/exit-codes.ts'),
    ]);
  const [error, ...later] = failuresOf(thrown);
  const failure = supervisor.failureOf(
    error instanceof CommandLineError
      ? new SignalboxError('usage', error.message, { details: { hint: error.hint } })
      : error,
  );
  if (later.length > 0) failure.also = later.map(messageOf);
  if (supervisor.isSupervised()) {
    await supervisor.reportToSupervisor({ failure });
    if (process.connected) process.disconnect();
  } else if (wantsJson(argv)) {
    machineStream(argv).write(`${JSON.stringify({ error: failure })}\n`);
  } else {
    process.stderr.write(error instanceof CommandLineError && error.help ? error.help : failureText(failure));
  }
  return exitCodeOf(failure);
}

function wantsJson(argv: readonly string[]): boolean {
  const end = argv.indexOf('--');
  return (end < 0 ? argv : argv.slice(0, end)).includes('--json');
}

/** Returns the stream for JSON: standard output, except for workers, whose standard output belongs to MCP. */
function machineStream(argv: readonly string[]): NodeJS.WriteStream {
  return argv[0] === 'worker' ? process.stderr : process.stdout;
}
