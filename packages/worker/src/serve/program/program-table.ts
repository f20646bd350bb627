import type { ClientName } from '../../agent-clis/injection.ts';
import { clientOf } from '../../agent-clis/injection-table.ts';
import { textWithCut } from '../turn-output.ts';
import { claudeTurns } from './claude-turns.ts';
import { codexTurns } from './codex-turns.ts';
import { copilotTurns } from './copilot-turns.ts';
import { geminiTurns } from './gemini-turns.ts';
import { opencodeTurns } from './opencode-turns.ts';
import { qwenTurns } from './qwen-turns.ts';
import type { TurnProgram } from './turn-program.ts';

const table: Readonly<Partial<Record<ClientName, TurnProgram>>> = {
  claude: claudeTurns,
  codex: codexTurns,
  opencode: opencodeTurns,
  gemini: geminiTurns,
  copilot: copilotTurns,
  qwen: qwenTurns,
};

/** Returns the rules by which the program of a command line takes turns, by its name. */
export function turnProgramOf(argv: readonly string[]): TurnProgram {
  const name = clientOf(argv[0] ?? '');
  return (name && table[name]) ?? genericProgram;
}

/**
 * Runs any program: it reads the texts of the messages from standard input, and everything that it prints on standard output is the answer.
 * The messages with their headers are in the file that `SIGNALBOX_MESSAGE_FILE` names.
 */
const genericProgram: TurnProgram = {
  command: ({ argv, text }) => ({ argv, stdin: text }),
  answer: ({ stdout, cutBytes }) => ({ text: textWithCut({ text: stdout, cutBytes }) }),
};
