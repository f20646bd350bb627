import { boundedText } from '../turn-output.ts';
import type { TurnProgram } from './turn-program.ts';

/**
 * Runs any program: it reads the texts of the messages from standard input, and everything that it prints on standard output is the answer.
 * The messages with their headers are in the file that `SIGNALBOX_MESSAGE_FILE` names.
 */
export const genericProgram: TurnProgram = {
  command: ({ argv, text }) => ({ argv, stdin: text }),
  answer: ({ stdout, cutBytes }) => ({ text: boundedText({ text: stdout, cutBytes }) }),
};
