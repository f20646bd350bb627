import { z } from 'zod';
import { refusesAll } from '../program/model-refusals.ts';
import type { TalkEnd } from '../program/turn-program.ts';
import type { AcpAgent } from './acp-agents.ts';
import type { LastText } from './spoken-text.ts';

/** The answer to `session/prompt`. */
export const promptAnswerSchema = z.object({
  stopReason: z.string(),
  usage: z.object({ outputTokens: z.number().nullish() }).nullish().catch(undefined),
});

/** Everything by which the end of a turn is understood. */
export interface SpokenTurn {
  agent: AcpAgent;
  answer: z.infer<typeof promptAnswerSchema>;
  last: LastText;
  /** The reasons with which uses of tools were denied in the turn. */
  denials: readonly string[];
  /** Why a question of the turn could not be decided. */
  undecided?: string | undefined;
  /** True if a sender waits for a reply. */
  isQuestion: boolean;
  /** The number of tool calls that were completed. */
  completedCalls: number;
}

const cutShort: Readonly<Record<string, string>> = {
  max_tokens: '[the model reached the limit of its output, and this is not the whole answer]',
  max_turn_requests: '[the agent reached its limit of requests in a turn, and this is not the whole answer]',
};

/** Returns what an ended turn means: `end_turn` alone says nothing of success. */
export function turnVerdict(turn: SpokenTurn): TalkEnd {
  const { agent, answer, denials } = turn;
  const { stopReason } = answer;
  const text = answerText(turn);
  if (stopReason === 'refusal') return { failed: `its model refused: ${turn.last.text}`, isFinal: true };
  if (denials.length > 0 && text === '' && (stopReason === 'end_turn' || stopReason === 'cancelled'))
    return { failed: denials.join('; '), isFinal: true };
  const cut = cutShort[stopReason];
  if (cut !== undefined)
    return text === '' ? { failed: `it ended with ${stopReason}` } : answered(`${cut}\n${text}`);
  if (stopReason !== 'end_turn') return { failed: `it ended with '${stopReason}'` };
  if (isFailure(turn, text)) return failure(agent, text);
  if (text !== '') return answered(text);
  if (turn.last.notice !== '') return failure(agent, turn.last.notice);
  if (!turn.isQuestion && turn.completedCalls > 0) return answered('');
  return { failed: turn.undecided ?? `${agent.name} ended the turn without an answer` };
}

/** Returns the text of the answer; it is empty if the last text only says that a use of a tool was denied. */
function answerText({ agent, last, denials }: SpokenTurn): string {
  const isDenial = denials.length > 0 && agent.noAnswer?.denied.test(last.text) === true;
  return isDenial ? '' : last.text;
}

function isFailure({ agent, answer: { usage } }: SpokenTurn, text: string): boolean {
  return agent.noAnswer?.failed.test(text) === true && !((usage?.outputTokens ?? 0) > 0);
}

function failure(agent: AcpAgent, failed: string): TalkEnd {
  return { failed, ...(refuses(agent, failed) && { isUnavailable: true }) };
}

/** Returns true if a failure, as the agent tells it, is one of each request to its model. */
function refuses(agent: AcpAgent | undefined, failed: string): boolean {
  const found = agent?.refusal?.exec(failed);
  if (!found) return false;
  return found[1] === undefined || refusesAll(Number(found[1]));
}

function answered(text: string): TalkEnd {
  return { answer: { text } };
}

const errorSchema = z.object({ code: z.number(), message: z.string(), data: z.unknown().optional() });
/** The code with which an agent says that its user has to sign in. */
const notSignedIn = -32_000;

/** Returns what an error of a request means. Errors of the connection have no code. */
export function talkFailure(thrown: unknown, agent?: AcpAgent): TalkEnd {
  const error = errorSchema.safeParse(thrown).data;
  if (!error) return { failed: thrown instanceof Error ? thrown.message : String(thrown) };
  const { code, message, data } = error;
  const detail = data === undefined || data === null ? '' : ` ${JSON.stringify(data)}`;
  const failed = `error ${code}: ${message}${detail}`;
  const isUnavailable = code === notSignedIn || refusesAll(code) || refuses(agent, failed);
  return { failed, ...(isUnavailable && { isUnavailable }) };
}
