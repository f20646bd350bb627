/** Returns how this command line is started again: the program, and the arguments before those of a command. */
export function ownCommand(): { command: string; args: string[] } {
  return { command: process.execPath, args: [...process.execArgv, process.argv[1]!] };
}

/** Returns our environment without the variables of Signalbox, and with a log of errors only. */
export function neutralEnvironment(): NodeJS.ProcessEnv {
  const kept = Object.entries(process.env).filter(([name]) => !name.startsWith('SIGNALBOX_'));
  return { ...Object.fromEntries(kept), SIGNALBOX_LOG: 'error' };
}
