import { z } from 'zod';
import { eventsIn } from './json-lines.ts';
import { refusesAll } from './model-refusals.ts';
import { sessionIdSchema } from './told-session.ts';
import { cannotTakeTurns, hasOption, refuseChosen, withoutBare } from './turn-options.ts';
import type { TurnOutput, TurnProgram } from './turn-program.ts';

const prompting = ['-p', '--prompt'];
const chosen = [
  '--output-format',
  '-o',
  '--input-format',
  '--include-partial-messages',
  '--json-schema',
  '--resume',
  '-r',
  '--continue',
  '-c',
  '--session-id',
  '--fork-session',
  '--chat-recording',
  '--prompt-interactive',
  '-i',
  '--acp',
];

const resultSchema = z.object({
  type: z.literal('result'),
  session_id: sessionIdSchema,
  is_error: z.literal(false),
  result: z.string(),
});

const eventSchema = z.object({ type: z.string(), subtype: z.string().optional() });
const errorSchema = z.object({
  type: z.literal('result'),
  is_error: z.literal(true),
  error: z.object({ message: z.string() }),
});

/**
 * Takes turns with `qwen -p`. It reads the prompt from standard input and prints events. The array of its other format would hold everything
 * that the turn read, too, and is longer than what is kept of an output.
 */
export const qwenTurns: TurnProgram = {
  needs: { help: ['--help'], words: ['stream-json', '--resume', '--mcp-config'] },
  command({ argv, prompt, session }) {
    const [program = '', ...words] = argv;
    if (!hasOption(words, prompting)) {
      throw cannotTakeTurns("qwen takes a turn as 'qwen -p'", 'write: worker serve … -- qwen -p');
    }
    refuseChosen(argv, chosen);
    const own = ['--output-format=stream-json', ...(session === undefined ? [] : [`--resume=${session}`])];
    return { argv: [program, ...own, ...withoutBare(words, prompting)], stdin: prompt };
  },
  answer({ stdout }) {
    const told = eventsIn(stdout, resultSchema).at(-1);
    if (told === undefined) throw new Error('qwen printed no result');
    return { text: told.result, session: told.session_id };
  },
  failure: failureOf,
  isSessionLost: ({ stderr }) => stderr.includes('No saved session found with ID'),
  isUnavailable: (output) => refusesAll(Number(/\[API Error: (\d{3}) /.exec(failureOf(output) ?? '')?.[1])),
};

/** Returns the error of a turn. After 429 or 503 qwen waits longer than a turn may take, and tells of that on standard error alone. */
function failureOf({ stdout, stderr }: TurnOutput): string | undefined {
  const told = eventsIn(stdout, errorSchema).at(-1)?.error.message;
  if (told !== undefined || eventsIn(stdout, eventSchema).at(-1)?.subtype !== 'retry') return told;
  return stderr.split('\n').findLast((line) => line.includes('[API Error: '));
}
