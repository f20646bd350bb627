import { run } from './run.ts';

/** Runs a command line in this process, up to its exit code. */
export async function runWholeProgram(argv: readonly string[]): Promise<void> {
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') {
      process.stderr.write(`signalbox: the answer could not be written: ${error.message}\n`);
      process.exit(1);
    }
    // Nobody reads the output any more. A daemon goes on: it prints nothing but that it is ready.
    const [command, part] = argv;
    const isOutput = command === 'tail' || (command === 'worker' && part !== 'run' && part !== 'serve');
    if (process.listenerCount('SIGTERM') === 0 || isOutput) process.exit(0);
  });
  process.stderr.on('error', () => {
    // Nobody is left to be told.
  });
  process.exitCode = await run(argv);
}
