import { startExitDeadline } from './process/exit-deadline.ts';
import { run } from './run.ts';

process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') {
    process.stderr.write(`signalbox: the answer could not be written: ${error.message}\n`);
    process.exit(1);
  }
  // Nobody reads the output any more. A daemon goes on: it prints nothing but that it is ready.
  const [command, part] = process.argv.slice(2);
  const isOutput = command === 'tail' || (command === 'worker' && part !== 'run');
  if (process.listenerCount('SIGTERM') === 0 || isOutput) process.exit(0);
});
process.stderr.on('error', () => {
  // Nobody is left to be told.
});
process.exitCode = await run(process.argv.slice(2));
// A handle that nobody closed must not keep a process that is done.
startExitDeadline(2000);
