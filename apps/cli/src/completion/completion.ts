import type { Command } from 'commander';
import { bashCompletion } from './bash.ts';
import { commandTree } from './command-tree.ts';
import { fishCompletion } from './fish.ts';
import { zshCompletion } from './zsh.ts';

/** The shells for which a completion can be written. */
export type Shell = 'bash' | 'zsh' | 'fish';

const writers = { bash: bashCompletion, zsh: zshCompletion, fish: fishCompletion };

/** Writes the completion of a program and all its commands for a shell. */
export function completionFor(shell: Shell, program: Command): string {
  return writers[shell](commandTree(program));
}
