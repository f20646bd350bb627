import { z } from 'zod';
import { askingModes } from '../../agent-clis/permissions.ts';
import { eventsIn } from './json-lines.ts';
import { refusesAll } from './model-refusals.ts';
import { sessionIdSchema } from './told-session.ts';
import { cannotTakeTurns, hasOption, refuseChosen } from './turn-options.ts';
import type { TurnOutput, TurnProgram } from './turn-program.ts';
import { wholeOutput } from './whole-output.ts';

const chosen = [
  '--output-format',
  '--input-format',
  '--verbose',
  '--resume',
  '-r',
  '--continue',
  '-c',
  '--session-id',
  '--fork-session',
  '--from-pr',
  '--no-session-persistence',
  '--bg',
  '--background',
];

const resultSchema = z.object({
  type: z.literal('result'),
  is_error: z.boolean(),
  result: z.string().optional(),
  session_id: sessionIdSchema.optional(),
  api_error_status: z.number().nullish(),
});
// A user who has set "verbose" gets all events of the turn in an array, the result last.
const outputSchema = z.union([resultSchema, z.array(z.unknown()).transform((events) => events.at(-1))]);

const beginSchema = z.object({
  type: z.literal('system'),
  subtype: z.literal('init'),
  permissionMode: z.string(),
});

/**
 * Takes turns with `claude -p`. It reads the prompt from standard input and prints one JSON object. If it is to ask a person for
 * permissions, it prints all events of the turn instead: the first names the mode which decides whether it asks.
 */
export const claudeTurns: TurnProgram = {
  needs: { help: ['--help'], words: ['--print', '--output-format', '--resume'] },
  command({ argv, prompt, session }) {
    const [program = '', ...words] = argv;
    if (!hasOption(words, ['-p', '--print'])) {
      throw cannotTakeTurns("claude takes a turn as 'claude -p'", 'write: worker serve … -- claude -p');
    }
    refuseChosen(argv, chosen);
    const asks = hasOption(words, ['--permission-prompt-tool']);
    const format = asks ? ['--output-format=stream-json', '--verbose'] : ['--output-format=json'];
    const own = [...format, ...(session === undefined ? [] : [`--resume=${session}`])];
    return { argv: [program, ...own, ...words], stdin: prompt };
  },
  answer(output) {
    const told = resultOf(output);
    if (told.is_error) throw new Error(told.result ?? 'claude told of an error');
    const mode = eventsIn(output.stdoutHead, beginSchema)[0]?.permissionMode;
    return {
      text: told.result ?? '',
      ...(told.session_id !== undefined && { session: told.session_id }),
      ...(mode !== undefined && !askingModes.includes(mode) && { asksNobody: `claude's mode '${mode}'` }),
    };
  },
  failure: ({ stdout }) => eventsIn(stdout, outputSchema.pipe(resultSchema)).at(-1)?.result,
  isSessionLost: ({ stderr }) => stderr.includes('No conversation found with session ID'),
  isUnavailable: (output) => refusesAll(resultOf(output).api_error_status ?? undefined),
};

function resultOf(output: TurnOutput): z.infer<typeof resultSchema> {
  const told = eventsIn(output.stdout, resultSchema).at(-1);
  return told ?? resultSchema.parse(outputSchema.parse(JSON.parse(wholeOutput(output))));
}
