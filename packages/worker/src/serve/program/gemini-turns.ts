import { z } from 'zod';
import { acceptedJson } from './json-lines.ts';
import { refusesAll } from './model-refusals.ts';
import { sessionIdSchema } from './told-session.ts';
import { cannotTakeTurns, hasOption, refuseChosen, withoutBare } from './turn-options.ts';
import type { TurnOutput, TurnProgram } from './turn-program.ts';
import { wholeOutput } from './whole-output.ts';

const prompting = ['-p', '--prompt'];
const chosen = [
  '--output-format',
  '-o',
  '--resume',
  '-r',
  '--session-id',
  '--session-file',
  '--prompt-interactive',
  '-i',
  '--acp',
  '--experimental-acp',
];

const outputSchema = z.object({ session_id: sessionIdSchema.optional(), response: z.string() });
const failureSchema = z.object({
  error: z.object({ message: z.string(), code: z.number().optional().catch(undefined) }),
});

/** Takes turns with `gemini -p`. It reads the prompt from standard input and prints one JSON object. */
export const geminiTurns: TurnProgram = {
  needs: { help: ['--help'], words: ['--output-format', '--resume', '--session-id'] },
  command({ argv, prompt, session }) {
    const [program = '', ...words] = argv;
    if (!hasOption(words, prompting)) {
      throw cannotTakeTurns("gemini takes a turn as 'gemini -p'", 'write: worker serve … -- gemini -p');
    }
    refuseChosen(argv, chosen);
    const own = ['--output-format=json', ...(session === undefined ? [] : [`--resume=${session}`])];
    return { argv: [program, ...own, ...withoutBare(words, prompting)], stdin: prompt };
  },
  answer(output) {
    const text = wholeOutput(output);
    // Some ways to sign in print a line before the answer.
    const told = outputSchema.parse(JSON.parse(text.slice(Math.max(0, text.indexOf('{')))));
    return { text: told.response, ...(told.session_id !== undefined && { session: told.session_id }) };
  },
  failure: (output) => failureOf(output)?.message,
  isSessionLost: ({ stderr }) => stderr.includes('Error resuming session:'),
  isUnavailable: (output) => refusesAll(failureOf(output)?.code),
};

/** Returns the error that gemini writes last on standard error, as an object on several lines behind those of a stack. */
function failureOf({ stderr }: TurnOutput): z.infer<typeof failureSchema>['error'] | undefined {
  return acceptedJson(stderr.slice(stderr.lastIndexOf('\n{\n') + 1), failureSchema)?.error;
}
