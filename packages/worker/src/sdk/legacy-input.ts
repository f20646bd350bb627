import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type {
  ClientCapabilities,
  Request,
  RequestOptions,
  StandardSchemaV1,
} from '@modelcontextprotocol/server';
import { type CallRound, isInputRequired, messageOf, toolCallError } from '@signalbox/protocol';
import type { FaceAnswer } from '../tools/face-tools.ts';
import { failedResultOf } from '../tools/tool-result.ts';

const maxRounds = 8;
/** It is people who answer; the client gives up the call earlier if it wants to. */
const answerMs = 10 * 60_000;
/** Before a call that its tool only wants to see again, so that it isn't asked all the time. */
const pauseMs = 250;

/** Lets the client's answers through: the server that asked is the one to judge them. */
export const untouched: StandardSchemaV1<unknown, Record<string, unknown>> = {
  '~standard': {
    version: 1,
    vendor: 'signalbox',
    validate: (value) => ({ value: value as Record<string, unknown> }),
  },
};

/** Sends the client a request and returns its answer as it came. */
export type AskClient = (request: Request, options: RequestOptions) => Promise<Record<string, unknown>>;

/** A call on whose behalf a client is asked. */
export interface AskingCall {
  ask: AskClient;
  /** Ends the questions with the call. */
  signal: AbortSignal;
  capabilities: ClientCapabilities | undefined;
  /** Makes the call again. */
  again(round: CallRound): Promise<FaceAnswer>;
}

/**
 * Ends a call whose tool asks for input, for a client of the revisions up to 2025-11-25, which knows no such result: asks the
 * client itself, as those revisions do, and makes the call again with its answers.
 */
export async function askLegacyClient(asking: AskingCall, first: FaceAnswer): Promise<FaceAnswer> {
  let answer = first;
  for (let rounds = 0; isInputRequired(answer.result); rounds++) {
    if (rounds === maxRounds) return failed(answer, `still asks for input after ${maxRounds} rounds`);
    const { inputRequests, requestState } = answer.result as Questions;
    try {
      const inputResponses = inputRequests && (await answersTo(asking, inputRequests));
      if (!inputResponses) await delay(pauseMs, undefined, { signal: asking.signal });
      answer = await asking.again({
        ...(asking.capabilities && { clientCapabilities: { ...asking.capabilities } }),
        ...(inputResponses && { inputResponses }),
        ...(typeof requestState === 'string' && { requestState }),
      });
    } catch (thrown) {
      if (asking.signal.aborted || !(thrown instanceof NoAnswer)) throw thrown;
      return failed(answer, `asks for input that the client did not give: ${thrown.message}`);
    }
  }
  return answer;
}

interface Questions {
  inputRequests?: Record<string, unknown>;
  requestState?: unknown;
}

/** Why a question has no answer. */
class NoAnswer extends Error {}

/** The first question without an answer ends the others. */
async function answersTo(
  { ask, signal, capabilities = {} }: AskingCall,
  questions: Record<string, unknown>,
): Promise<Record<string, unknown>> {
  const requests = Object.entries(questions).map(([key, question]) => {
    return [key, requestFor(key, question, capabilities)] as const;
  });
  const others = new AbortController();
  const options = { timeout: answerMs, signal: AbortSignal.any([signal, others.signal]) };
  try {
    const answers = requests.map(async ([key, request]) => {
      return [key, await ask(request, options)] as const;
    });
    return Object.fromEntries(await Promise.all(answers));
  } catch (thrown) {
    others.abort();
    throw new NoAnswer(messageOf(thrown));
  }
}

const capabilityFor = {
  'elicitation/create': 'elicitation',
  'sampling/createMessage': 'sampling',
  'roots/list': 'roots',
} as const;

function requestFor(key: string, question: unknown, capabilities: ClientCapabilities) {
  const { method, params } = (question ?? {}) as { method?: string; params?: Record<string, unknown> };
  if (method === undefined || !Object.hasOwn(capabilityFor, method)) {
    throw new NoAnswer(`'${key}' is not a question that clients know`);
  }
  const known = method as keyof typeof capabilityFor;
  if (!capabilities[capabilityFor[known]]) throw new NoAnswer(`it cannot be asked for ${known}`);
  // Only the earlier revisions give such a question an id.
  const needsId = params?.mode === 'url' && params.elicitationId === undefined;
  return {
    method: known,
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
