import { basename } from 'node:path';
import { pathIn } from '../document/path-in.ts';

/** A word of a script, with the directory in which its command runs. */
export interface ScriptWord {
  word: string;
  directory: string;
}

const shells = /^(sh|ash|bash|dash|fish|ksh|zsh)$/;

/** Finds the script in `bash -lc SCRIPT` and `env bash -c SCRIPT`; returns its index in `args`, or -1. */
export function scriptIndex(command: string, args: readonly string[]): number {
  const programs = basename(command) === 'env' ? args : [command];
  if (!programs.some((program) => shells.test(basename(program)))) return -1;
  return args.findIndex((_, at) => /^-[a-z]*c$/.test(args[at - 1] ?? ''));
}

/**
 * Lists the words of a shell script that commands are given. `cd` changes the directory of what follows, and gives nothing;
 * `.` at the beginning of a command is the shell's own.
 */
export function scriptWords(script: string, directory: string): ScriptWord[] {
  let current = directory;
  return script.split(/[;&|()\n]+/).flatMap((command) => {
    const [first = '', ...rest] = command.split(/[\s<>"'`]+/).filter((word) => word !== '');
    if (first === 'cd') {
      current = pathIn(current, rest[0] ?? '.');
      return [];
    }
    const words = first === '.' ? rest : [first, ...rest];
    return words.map((word) => ({ word, directory: current }));
  });
}
