import { join } from 'node:path';
import { z } from 'zod';
import { eventsIn } from './json-lines.ts';
import { refusesAll } from './model-refusals.ts';
import { sessionIdSchema } from './told-session.ts';
import { cannotTakeTurns, hasOption, refuseChosen } from './turn-options.ts';
import type { TurnProgram } from './turn-program.ts';

const chosen = ['-o', '--output-last-message', '--output-schema', '--ephemeral', '--last', '--all'];

const failedSchema = z.object({ type: z.literal('turn.failed'), error: z.object({ message: z.string() }) });
const startedSchema = z.object({ type: z.literal('thread.started'), thread_id: sessionIdSchema });

/** Takes turns with `codex exec`. It reads the prompt from standard input, prints events, and writes its last message into a file. */
export const codexTurns: TurnProgram = {
  needs: { help: ['exec', '--help'], words: ['resume', '--json', '--output-last-message'] },
  command({ argv, prompt, session, runDirectory }) {
    const at = execAt(argv);
    refuseChosen(argv, chosen);
    refusePrompt(argv.slice(at + 1));
    const answerFile = join(runDirectory, 'answer.txt');
    return {
      argv: [
        ...argv,
        ...(hasOption(argv, ['--json']) ? [] : ['--json']),
        `--output-last-message=${answerFile}`,
        // It comes after the options of exec, of which resume itself accepts only some.
        ...(session === undefined ? [] : ['resume', session]),
        '-',
      ],
      stdin: prompt,
      answerFile,
    };
  },
  answer({ file, stdoutHead }) {
    if (file === undefined) throw new Error('codex wrote no last message');
    const [started] = eventsIn(stdoutHead, startedSchema);
    return { text: file, ...(started && { session: started.thread_id }) };
  },
  failure: ({ stdout }) => eventsIn(stdout, failedSchema).at(-1)?.error.message,
  isSessionLost: ({ stderr }) => stderr.includes('no rollout found for thread id'),
  isUnavailable({ stdout }) {
    const message = eventsIn(stdout, failedSchema).at(-1)?.error.message ?? '';
    const [, status] = /status:? (\d{3})/.exec(message) ?? [];
    return refusesAll(Number(status)) || message.includes('usage limit');
  },
};

/** Returns where the word `exec` stands. */
function execAt(argv: readonly string[]): number {
  const at = argv.findIndex((word, place) => place > 0 && (word === 'exec' || word === 'e'));
  if (at > 0) return at;
  throw cannotTakeTurns("codex takes a turn as 'codex exec'", 'write: worker serve … -- codex exec');
}

/** Refuses a word after `exec` that certainly is neither an option nor the value of one: codex would read it as the prompt or a command. */
function refusePrompt(words: readonly string[]): void {
  const at = words.findIndex((word, place) => isPlain(word) && (place === 0 || isPlain(words[place - 1])));
  if (at < 0) return;
  throw cannotTakeTurns(
    `'${words[at]}' can't stand behind 'codex exec': each turn has its own prompt`,
    'put lasting instructions into AGENTS.md of the working directory',
  );
}

function isPlain(word = '-'): boolean {
  return !word.startsWith('-');
}
