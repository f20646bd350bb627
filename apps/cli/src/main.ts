import { setFlagsFromString } from 'node:v8';
import { namesCommand } from './completion/names-command.ts';
import { planCommand } from './daemons/plan-request.ts';
import { startExitDeadline } from './process/exit-deadline.ts';

const argv = process.argv.slice(2);
const [command, part, ...rest] = argv;

/** Joins an agent to the shared face of this machine. That needs only a small part of the program. */
async function bridged(): Promise<boolean> {
  if (command !== 'worker' || part !== 'mcp') return false;
  const { bridgeToFace } = await import('./worker/bridge.ts');
  const isServed = await bridgeToFace(rest, process.env);
  // A face is more than a shim, for which bin/signalbox.js has turned this off.
  if (!isServed) setFlagsFromString('--opt');
  return isServed;
}

/** The hooks of agent CLIs. `worker run` writes their command lines, so they are in no help. */
async function hooked(): Promise<boolean> {
  if (command === 'mail-hook') {
    const { runMailHook } = await import('./mail-hook/run-mail-hook.ts');
    await runMailHook(argv.slice(1));
    return true;
  }
  if (command !== 'wake-hook') return false;
  const { runWakeHook } = await import('./mail-hook/run-wake-hook.ts');
  await runWakeHook(argv.slice(1));
  return true;
}

/** Names that a shell completes. The scripts of `completion` ask for them, so that is in no help. */
async function completed(): Promise<boolean> {
  if (command !== namesCommand || part === undefined) return false;
  const { printNames } = await import('./completion/names.ts');
  await printNames(part, rest);
  return true;
}

/** Reads the configuration for a supervisor, which starts this process and ends it. */
async function planned(): Promise<boolean> {
  // Without a channel to a supervisor, somebody typed it: then it is an unknown command.
  if (command !== planCommand || part === undefined || process.send === undefined) return false;
  const { interpretSchemas } = await import('./process/interpret-schemas.ts');
  interpretSchemas();
  const { reportUpPlan } = await import('./daemons/up-plan.ts');
  await reportUpPlan(JSON.parse(part)).catch(async (error) => {
    const { reportFailure } = await import('./run.ts');
    process.exitCode = await reportFailure(error, argv);
  });
  return true;
}

async function main(): Promise<void> {
  if (!(await hooked()) && !(await bridged()) && !(await planned()) && !(await completed())) {
    const { runWholeProgram } = await import('./whole-program.ts');
    await runWholeProgram(argv);
  }
  // A handle that nobody closed must not keep a process that is done.
  startExitDeadline(2000);
}

/** Resolves when the command is done. Rejects if a file of the program is missing. */
export const done = main();
