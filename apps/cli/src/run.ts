import { type Command, CommanderError } from 'commander';
import { defaultCommand } from './help.ts';
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

/** A command line that commander refuses. */
class RefusedLine extends Error {
  readonly refusal: CommanderError;
  readonly command: Command;

  constructor(refusal: CommanderError, command: Command) {
    super(refusal.message);
    this.refusal = refusal;
    this.command = command;
  }
}

/** The commands that run for long, or start those that do. */
const lasting = new Set(['a2a', 'broker', 'demo', 'orchestrator', 'up', 'worker']);

/** Runs one command line and returns its exit code. Never rejects: each failure is printed where the caller looks for it. */
export async function run(argv: readonly string[]): Promise<number> {
  const program = await createProgram(argv[0]);
  prepare(program);
  program.hook('preAction', async (_, command) => {
    refuseEmptyOptions(command);
    refuseMisplacedOptions(command);
    if (lasting.has(argv[0]!)) return;
    const { interpretSchemas } = await import('./process/interpret-schemas.ts');
    interpretSchemas();
  });
  try {
    await program.parseAsync(withDefaultCommand(argv, program), { from: 'user' });
    return Number(process.exitCode ?? 0);
  } catch (error) {
    if (error instanceof CommanderError) return 0;
    return await reportFailure(error instanceof RefusedLine ? await explained(error) : error, argv);
  }
}

/** Makes commander throw instead of printing and exiting, for every command. */
function prepare(command: Command): void {
  let written = '';
  command.configureOutput({
    writeErr: (text) => {
      written += text;
    },
  });
  command.exitOverride((error) => {
    if (error.exitCode === 0) throw error;
    throw error.code === 'commander.help'
      ? new CommandLineError('no command given', seeHelp(command), written)
      : new RefusedLine(error, command);
  });
  for (const child of command.commands) prepare(child);
}

/** Adds the command of a group that shows its things where a line names the group only. */
function withDefaultCommand(argv: readonly string[], program: Command): readonly string[] {
  const [word, ...rest] = argv;
  const group = program.commands.find((command) => command.name() === word);
  const byDefault = group && defaultCommand(group);
  const names = group?.commands.map((command) => command.name()) ?? [];
  const isAsked = rest.some((one) => ['-h', '--help', 'help', ...names].includes(one));
  const isOther = rest[0] !== undefined && !rest[0].startsWith('-');
  return !byDefault || isAsked || isOther ? argv : [word!, byDefault.name(), ...rest];
}

async function explained({ refusal, command }: RefusedLine): Promise<CommandLineError> {
  const { explainWrongLine } = await import('./wrong-line.ts');
  const { message, hint } = explainWrongLine(refusal, command, pathOf(command));
  return new CommandLineError(message, hint);
}

/** Refuses an empty value, which is an unset variable of a shell and would be a wrong folder or name. */
function refuseEmptyOptions(command: Command): void {
  const empty = command.options.find((option) => command.opts()[option.attributeName()] === '');
  if (!empty) return;
  throw new CommandLineError(`option '${empty.flags}' is empty`, seeHelp(command));
}

/** Refuses options that stand before the name of a command: they are those of the command above it, and would mean nothing. */
function refuseMisplacedOptions(command: Command): void {
  const above = command.parent;
  const early = above?.options.find((one) => above.getOptionValueSource(one.attributeName()) === 'cli');
  if (!above || !early) return;
  const isOwn = command.options.some(({ long }) => long === early.long);
  const hint = isOwn ? `write it last, as in: ${pathOf(command)} … ${early.flags}` : seeHelp(command);
  throw new CommandLineError(`option '${early.flags}' stands before '${command.name()}'`, hint);
}

function pathOf(command: Command): string {
  return command.parent ? `${pathOf(command.parent)} ${command.name()}` : command.name();
}

function seeHelp(command: Command): string {
  return `see: ${pathOf(command)} --help`;
}

/** Reports a failure, with further failures that occurred while the command ended. Returns the exit code. */
export async function reportFailure(thrown: unknown, argv: readonly string[]): Promise<number> {
  const [
    { failuresOf, messageOf, SignalboxError },
    supervisor,
    { failureText },
    { exitCodeOf },
    { snakeKeys },
    { withoutTokens },
  ] = await Promise.all([
    import('@signalbox/protocol/signalbox-error'),
    import('@signalbox/daemon/supervisor'),
    import('./terminal/failure-text.ts'),
    import('./terminal/exit-codes.ts'),
    import('./terminal/output.ts'),
    import('@signalbox/protocol/names'),
  ]);
  const [error, ...later] = failuresOf(thrown);
  const whole = supervisor.failureOf(
    error instanceof CommandLineError
      ? new SignalboxError('usage', error.message, { details: { hint: error.hint } })
      : error,
  );
  if (later.length > 0) whole.also = later.map(messageOf);
  // People write a token where its file is wanted, and the CLI of an agent keeps what its worker says.
  const failure = JSON.parse(withoutTokens(JSON.stringify(whole))) as typeof whole;
  if (supervisor.isSupervised()) {
    await supervisor.reportToSupervisor({ failure });
    if (process.connected) process.disconnect();
  } else if (wantsJson(argv)) {
    machineStream(argv).write(`${JSON.stringify({ error: snakeKeys(failure) })}\n`);
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
