import { z } from 'zod';
import { eventsIn } from './json-lines.ts';
import { refusesAll } from './model-refusals.ts';
import { sessionIdSchema } from './told-session.ts';
import { cannotTakeTurns, refuseChosen } from './turn-options.ts';
import type { TurnProgram } from './turn-program.ts';

const chosen = [
  '--format',
  '--session',
  '-s',
  '--continue',
  '-c',
  '--fork',
  '--interactive',
  '-i',
  '--attach',
  '--command',
];

const eventSchema = z.object({ type: z.string(), sessionID: sessionIdSchema });
const textSchema = z.object({
  type: z.literal('text'),
  part: z.object({ messageID: z.string(), text: z.string() }),
});
const errorSchema = z.object({
  type: z.literal('error'),
  error: z.object({
    data: z.object({ message: z.string().optional(), statusCode: z.number().optional() }),
  }),
});

/** Takes turns with `opencode run`. It reads the prompt from standard input and prints events, each with the id of the session. */
export const opencodeTurns: TurnProgram = {
  needs: { help: ['run', '--help'], words: ['--format', '--session'] },
  command({ argv, prompt, session }) {
    const at = argv.indexOf('run', 1);
    if (at < 0) {
      throw cannotTakeTurns(
        "opencode takes a turn as 'opencode run'",
        'write: worker serve … -- opencode run',
      );
    }
    refuseChosen(argv, chosen);
    const own = ['--format=json', ...(session === undefined ? [] : [`--session=${session}`])];
    return { argv: [...argv.slice(0, at + 1), ...own, ...argv.slice(at + 1)], stdin: prompt };
  },
  answer({ stdout, stdoutHead }) {
    const texts = eventsIn(stdout, textSchema).map(({ part }) => part);
    const last = texts.at(-1);
    const [first] = eventsIn(stdoutHead, eventSchema);
    if (!first) throw new Error('opencode printed no event');
    // Texts that the model wrote before it called tools are in separate messages.
    const text = texts.filter(({ messageID }) => messageID === last?.messageID).map((part) => part.text);
    return { text: text.join('\n\n'), session: first.sessionID };
  },
  failure: ({ stdout }) => eventsIn(stdout, errorSchema).at(-1)?.error.data.message,
  isSessionLost: ({ stderr }) => stderr.includes('Session not found'),
  isUnavailable: ({ stdout }) => refusesAll(eventsIn(stdout, errorSchema).at(-1)?.error.data.statusCode),
};
