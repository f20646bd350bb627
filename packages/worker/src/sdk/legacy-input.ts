import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import {
  type ClientCapabilities,
  type Request,
  type RequestOptions,
  SdkError,
  SdkErrorCode,
  type Server,
  type StandardSchemaV1,
} from '@modelcontextprotocol/server';
import type { CancelSignal } from '@signalbox/client';
import {
  type CallRound,
  isInputRequired,
  isJsonObject,
  isQuestionMethod,
  isRunningCallState,
  messageOf,
  type NoAnswer,
  questionCapabilities,
  toolCallError,
} from '@signalbox/protocol';
import { abortSignalOf } from '@signalbox/protocol/internal';
import { clientGone, type FaceAnswer } from '../tools/face-tools.ts';
import { internalError } from '../tools/json-rpc-error.ts';
import { failedResultOf } from '../tools/tool-result.ts';

const maxRounds = 8;
/**
 * The longest wait for the answer to a question by default, in milliseconds. Some clients never answer. A call that runs on meanwhile ends
 * after five minutes: before that, its server is told that there is no answer.
 */
const defaultAnswerMs = 4 * 60_000;
/** The pause in milliseconds before a round for a tool that asks only for another round. */
const pauseMs = 250;

/**
 * Passes a client's answers on as they came: the server that asked checks them. The SDK checks every answer against a schema and drops
 * fields that it does not know, so it gets this schema, which accepts everything. Checked with SDK 2.4.0.
 */
export const untouched: StandardSchemaV1<unknown, Record<string, unknown>> = {
  '~standard': {
    version: 1,
    vendor: 'signalbox',
    validate: (value) => ({ value: value as Record<string, unknown> }),
  },
};

/** Sends the client a request and returns its answer as it came. */
export type AskClient = (request: Request, options: RequestOptions) => Promise<Record<string, unknown>>;

/**
 * Returns what to call before each question to the client of a connection. SDK 1 ignores that request 0 is cancelled, and would go on
 * asking its user, so the first request is a ping. Checked with SDK 1.32.2.
 */
export function questionGuard(server: Server): () => void {
  let hasAsked = false;
  return () => {
    if (!hasAsked) server.ping().catch(() => {});
    hasAsked = true;
  };
}

/** A call whose tool asks the client something. */
export interface AskingCall {
  ask: AskClient;
  /** Aborted when the call ends. */
  signal: CancelSignal;
  capabilities: ClientCapabilities | undefined;
  /** The longest wait for the answer to a question, in milliseconds; default 4 min. */
  answerMs?: number | undefined;
  /** Makes the call again. `signal` stands for that of the call. */
  again(round: CallRound, signal?: CancelSignal): Promise<FaceAnswer>;
}

/**
 * Asks a client of the revisions up to 2025-11-25 for the input that a tool wants, and makes the call again with the answers. Those
 * revisions have no result that asks for input; their servers ask by requests of their own. A call to such a server runs on meanwhile: the
 * server is told why an answer is missing, and that the call was cancelled.
 */
export async function askLegacyClient(asking: AskingCall, first: FaceAnswer): Promise<FaceAnswer> {
  let answer = first;
  for (let rounds = 0; isInputRequired(answer.result); rounds++) {
    const { inputRequests, requestState } = answer.result as Questions;
    const isRunning = isRunningCallState(requestState);
    // The orchestrator bounds the questions of a call that runs on.
    if (rounds === maxRounds && !isRunning)
      return failed(answer, `still asks for input after ${maxRounds} rounds`);
    try {
      const inputResponses =
        inputRequests && (await (isRunning ? allAnswersTo : answersTo)(asking, inputRequests));
      if (isRunning && asking.signal.aborted) {
        if (asking.signal.reason !== clientGone) callOff(asking, inputRequests, requestState);
        throw new Unanswered('the call was cancelled');
      }
      if (!inputResponses) await delay(pauseMs, undefined, { signal: abortSignalOf(asking.signal) });
      answer = await asking.again({
        isOlderClient: true,
        ...(asking.capabilities && { clientCapabilities: { ...asking.capabilities } }),
        ...(inputResponses && { inputResponses }),
        ...(typeof requestState === 'string' && { requestState }),
      });
    } catch (thrown) {
      if (asking.signal.aborted || !(thrown instanceof Unanswered)) throw thrown;
      return failed(answer, `asks for input that the client did not give: ${thrown.message}`);
    }
  }
  return answer;
}

interface Questions {
  inputRequests?: Record<string, unknown>;
  requestState?: unknown;
}

/** Thrown if a question has no answer; the message gives the reason. */
class Unanswered extends Error {}

/** Asks all questions at once. The first one without an answer ends the others. */
async function answersTo(
  { ask, signal, capabilities = {}, answerMs = defaultAnswerMs }: AskingCall,
  questions: Record<string, unknown>,
): Promise<Record<string, unknown>> {
  const requests = Object.entries(questions).map(([key, question]) => {
    return [key, requestFor(key, question, capabilities)] as const;
  });
  const others = new AbortController();
  const options = { timeout: answerMs, signal: AbortSignal.any([abortSignalOf(signal), others.signal]) };
  try {
    const answers = requests.map(async ([key, request]) => {
      return [key, await ask(request, options)] as const;
    });
    return Object.fromEntries(await Promise.all(answers));
  } catch (thrown) {
    others.abort();
    throw new Unanswered(whyUnanswered(thrown, answerMs));
  }
}

/** Asks all questions at once. A question without an answer gets the reason instead. */
async function allAnswersTo(
  { ask, signal, capabilities = {}, answerMs = defaultAnswerMs }: AskingCall,
  questions: Record<string, unknown>,
): Promise<Record<string, unknown>> {
  const own = abortSignalOf(signal);
  const answers = Object.entries(questions).map(async ([key, question]) => {
    try {
      return [
        key,
        await ask(requestFor(key, question, capabilities), { timeout: answerMs, signal: own }),
      ] as const;
    } catch (thrown) {
      const { code } = isJsonObject(thrown) ? thrown : {};
      const message = whyUnanswered(thrown, answerMs);
      return [key, noAnswer(Number.isSafeInteger(code) ? (code as number) : internalError, message)] as const;
    }
  });
  return Object.fromEntries(await Promise.all(answers));
}

function noAnswer(code: number, message: string): NoAnswer {
  return { error: { code, message } };
}

function whyUnanswered(thrown: unknown, answerMs: number): string {
  if (!(thrown instanceof SdkError && thrown.code === SdkErrorCode.RequestTimeout)) return messageOf(thrown);
  return `the client has not answered the question within ${answerMs / 1000} seconds`;
}

/** Ends a call that still runs at its server. The call's own signal has aborted, so another round tells the server. */
function callOff({ again }: AskingCall, questions: object = {}, requestState: string): void {
  const error = { code: internalError, message: 'the client cancelled the call', isCancelled: true };
  const inputResponses = Object.fromEntries(Object.keys(questions).map((key) => [key, { error }]));
  again({ inputResponses, requestState }, new AbortController().signal).catch(() => {});
}

function requestFor(key: string, question: unknown, capabilities: ClientCapabilities) {
  const { method, params } = (question ?? {}) as { method?: string; params?: Record<string, unknown> };
  if (!isQuestionMethod(method)) throw new Unanswered(`'${key}' is not a question that clients know`);
  if (!capabilities[questionCapabilities[method]]) throw new Unanswered(`it cannot be asked for ${method}`);
  // Only the earlier revisions require an id for such a question.
  const needsId = params?.mode === 'url' && params.elicitationId === undefined;
  return {
    method,
    ...(params && { params: needsId ? { ...params, elicitationId: randomUUID() } : params }),
  };
}

function failed({ outputSchema }: FaceAnswer, why: string): FaceAnswer {
  const error = toolCallError('internal', `the tool ${why}`, { mayHaveRun: true });
  return {
    result: failedResultOf(error, outputSchema && { outputSchema }),
    ...(outputSchema && { outputSchema }),
  };
}
