/** How this very command line is started again: the program and the arguments before a command's own. */
export function ownCommand(): { command: string; args: string[] } {
  return { command: process.execPath, args: [...process.execArgv, process.argv[1]!] };
}

/** The environment of our own, without anything that says who this shell is. */
export function neutralEnvironment(): NodeJS.ProcessEnv {
  const kept = Object.entries(process.env).filter(([name]) => !name.startsWith('SIGNALBOX_'));
  return { ...Object.fromEntries(kept), SIGNALBOX_LOG: 'error' };
}
