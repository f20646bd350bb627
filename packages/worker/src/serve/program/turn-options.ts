import { basename } from 'node:path';
import { SignalboxError } from '@signalbox/protocol';

/** Returns true if one of the words is one of these options, alone or as `--option=value`. */
export function hasOption(words: readonly string[], options: readonly string[]): boolean {
  return namedOption(words, options) !== undefined;
}

/**
 * Refuses options that `serve` chooses for each turn, such as the form of the output. Throws `SignalboxError` `usage`, which names the
 * option.
 */
export function refuseChosen([program = '', ...words]: readonly string[], options: readonly string[]): void {
  const found = namedOption(words, options);
  if (found === undefined) return;
  throw cannotTakeTurns(
    `${found} of '${basename(program)}' can't be given: each turn has its own prompt, output and session`,
    'leave it out; --session none of worker serve begins a new session for each turn',
  );
}

/** Leaves out options that stand without a value, such as a `-p` of a program that refuses it and reads its prompt from standard input. */
export function withoutBare(words: readonly string[], options: readonly string[]): string[] {
  return words.filter((word, at) => !options.includes(word) || !(words[at + 1] ?? '-').startsWith('-'));
}

/** Makes the error of a command line that can't take turns. */
export function cannotTakeTurns(message: string, hint: string): SignalboxError {
  return new SignalboxError('usage', message, { details: { hint } });
}

function namedOption(words: readonly string[], options: readonly string[]): string | undefined {
  return options.find((option) => words.some((word) => word === option || word.startsWith(`${option}=`)));
}
