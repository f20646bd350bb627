import { z } from 'zod';
import { eventsIn } from './json-lines.ts';
import { refusesAll } from './model-refusals.ts';
import { sessionIdSchema } from './told-session.ts';
import { cannotTakeTurns, hasOption, refuseChosen, withoutBare } from './turn-options.ts';
import type { TurnProgram } from './turn-program.ts';

const prompting = ['-p', '--prompt'];
const chosen = [
  '--output-format',
  '--resume',
  '-r',
  '--continue',
  '--session-id',
  '--connect',
  '--interactive',
  '-i',
  '--acp',
];

const resultSchema = z.object({
  type: z.literal('result'),
  sessionId: sessionIdSchema,
  exitCode: z.number(),
});
// Events of a subagent have its id.
const ofMainAgent = { agentId: z.undefined().optional() };
/** Each event after which an answer stands, or no longer does: the turn goes on. */
const answerSchema = z.union([
  z
    .object({ type: z.literal('assistant.turn_start'), ...ofMainAgent })
    .transform(() => ({ text: undefined })),
  z
    .object({
      type: z.literal('assistant.message'),
      ...ofMainAgent,
      data: z.object({ content: z.string(), toolRequests: z.array(z.unknown()).optional() }),
    })
    .transform(({ data }) => ({ text: data.toolRequests?.length ? undefined : data.content })),
  // In autopilot mode the turn ends with a summary, which is in no message.
  z
    .object({
      type: z.literal('session.task_complete'),
      ...ofMainAgent,
      data: z.object({ summary: z.string() }),
    })
    .transform(({ data }) => ({ text: data.summary })),
]);
const errorSchema = z.object({
  type: z.literal('session.error'),
  ...ofMainAgent,
  data: z.object({ message: z.string(), statusCode: z.number().optional() }),
});

/** Takes turns with `copilot -p`. It reads the prompt from standard input, unless it is given one, and prints events. */
export const copilotTurns: TurnProgram = {
  needs: { help: ['--help'], words: ['--output-format', '--resume', '--additional-mcp-config'] },
  command({ argv, prompt, session }) {
    const [program = '', ...given] = argv;
    if (!hasOption(given, prompting)) {
      throw cannotTakeTurns("copilot takes a turn as 'copilot -p'", 'write: worker serve … -- copilot -p');
    }
    const words = withoutBare(given, prompting);
    if (hasOption(words, prompting)) {
      throw cannotTakeTurns(
        'copilot does not read standard input if -p has a prompt, and each turn has its own',
        'write -p without a text; put lasting instructions into AGENTS.md of the working directory',
      );
    }
    refuseChosen(argv, chosen);
    const own = ['--output-format=json', ...(session === undefined ? [] : [`--resume=${session}`])];
    return { argv: [program, ...own, ...words], stdin: prompt };
  },
  answer({ stdout }) {
    const result = eventsIn(stdout, resultSchema).at(-1);
    // Copilot also tells of exit code 0 when a signal ends it in the middle of a turn.
    const text = eventsIn(stdout, answerSchema).at(-1)?.text;
    if (result?.exitCode !== 0 || text === undefined)
      throw new Error('copilot ended without a final message');
    return { text, session: result.sessionId };
  },
  failure: ({ stdout }) => eventsIn(stdout, errorSchema).at(-1)?.data.message,
  isSessionLost: ({ stderr }) => stderr.includes('No session, task, or name matched'),
  isUnavailable: ({ stdout }) => refusesAll(eventsIn(stdout, errorSchema).at(-1)?.data.statusCode),
};
