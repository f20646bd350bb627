import { isDeepStrictEqual } from 'node:util';
import { isJsonObject } from '@signalbox/protocol';
import { timerMs } from '@signalbox/serving';
import type { ServerAnswer, ToolRequest } from '../server-connection.ts';
import { mcpErrorCode } from '../tool-calls/index.ts';
import type { AskableBy, ServerQuestion } from './addressee.ts';
import { answerProblem } from './answer-check.ts';
import type { Askable } from './askable.ts';
import { maxQuestionLength, maxQuestions, QuestionError, refusedQuestion } from './question-refusal.ts';
import type { CallIdentity, WaitingCall, WaitingCalls } from './waiting-calls.ts';

/** The longest result that is kept for a caller that has not answered yet, in characters of JSON. */
const maxKeptLength = 1024 * 1024;

/** The dependencies of a {@link RunningCall}. */
export interface RunningCallDeps {
  waiting: WaitingCalls;
  /** Monotonic milliseconds. */
  now: () => number;
  /** Called with each question that is passed on. */
  onAsked: () => void;
}

/** A question without an answer. */
interface OpenQuestion extends ServerQuestion {
  resolve: (answer: Record<string, unknown>) => void;
  reject: (why: QuestionError) => void;
}

/** The part of a call between two answers of its caller. */
interface Round {
  request: ToolRequest;
  /** The time until which its caller waits, on the host's clock. */
  deadline: number;
  end: (answer: ServerAnswer) => void;
}

/**
 * A call on a server that may ask questions in the middle of it. For its caller each question ends a round, with `input_required`; for the
 * server it is one call, which is made once and waits. The call ends with its answer, when a round is aborted or runs out of time, and when
 * its caller has not answered by the deadline of the round that ended with the question.
 */
export class RunningCall implements AskableBy, WaitingCall {
  readonly identity: CallIdentity;
  readonly askable: Askable;
  readonly #deps: RunningCallDeps;
  readonly #ended = new AbortController();
  readonly #over = Promise.withResolvers<void>();
  readonly #open = new Map<string, OpenQuestion>();
  #answer: Promise<ServerAnswer> | undefined;
  #round: Round | undefined;
  #asked = 0;
  /** The number of times that its caller was asked again after leaving a question unanswered. */
  #askedAgain = 0;
  #argumentsCharacters: number | undefined;
  /** The characters of the result that is kept until its caller has answered. */
  #kept = 0;
  #isTold = false;
  #showing: NodeJS.Immediate | undefined;
  /** The questions that the caller was shown and has not answered. */
  #shown: { state: string; keys: ReadonlySet<string>; timer: NodeJS.Timeout } | undefined;

  constructor(identity: CallIdentity, askable: Askable, deps: RunningCallDeps) {
    this.identity = identity;
    this.askable = askable;
    this.#deps = deps;
  }

  get agent(): string | undefined {
    return this.identity.agent;
  }

  /** Resolves when the server has answered, or nobody waits for its answer any more. */
  get over(): Promise<void> {
    return this.#over.promise;
  }

  /** Makes the call, and waits until the server has answered or asks something. Never rejects. */
  run(request: ToolRequest, send: (request: ToolRequest) => Promise<ServerAnswer>): Promise<ServerAnswer> {
    const onProgress: ToolRequest['onProgress'] =
      request.onProgress && ((progress) => this.#round?.request.onProgress?.(progress));
    const first = this.#beginRound(request);
    const { signal } = this.#ended;
    const sent = send({ ...request, signal, timeoutMs: Number.POSITIVE_INFINITY, onProgress });
    this.#answer = sent.then((answer) => this.#end(answer));
    return this.#endOf(first);
  }

  is(identity: CallIdentity): boolean {
    return isDeepStrictEqual(identity, this.identity);
  }

  goOn(responses: Record<string, unknown>, request: ToolRequest): Promise<ServerAnswer> {
    const keys: ReadonlySet<string> = this.#shown?.keys ?? new Set();
    this.#hide();
    const next = this.#beginRound(request);
    for (const [key, answer] of Object.entries(responses)) if (keys.has(key)) this.#take(key, answer);
    // Questions without an answer are asked again.
    const isUnanswered = [...keys].some((key) => this.#open.has(key));
    if (isUnanswered && ++this.#askedAgain > maxQuestions) this.#refuseAll('too_many');
    this.#showSoon();
    return this.#endOf(next);
  }

  /** Asks the caller. Rejects with `QuestionError`. `signal` aborts when the server wants no answer any more. */
  async ask(question: ServerQuestion, signal: AbortSignal): Promise<Record<string, unknown>> {
    const { method } = question;
    if (this.#ended.signal.aborted || signal.aborted) throw refusedQuestion(method, 'ended');
    if (this.#asked >= maxQuestions) throw refusedQuestion(method, 'too_many');
    const characters = lengthOf(question.params);
    if (characters > maxQuestionLength) throw refusedQuestion(method, 'too_large');
    const { room } = this.#deps.waiting;
    const owner = this.agent ?? '';
    // While its caller is asked, no other limit counts the arguments of the call.
    const taken = { questions: 1, characters: characters + this.#argumentsLength() };
    if (room.take(owner, taken)) throw refusedQuestion(method, 'no_room');
    this.#deps.onAsked();
    this.#asked++;
    const key = `question_${this.#asked}`;
    const { promise, resolve, reject } = Promise.withResolvers<Record<string, unknown>>();
    this.#open.set(key, { ...question, resolve, reject });
    signal.addEventListener('abort', () => reject(refusedQuestion(method, 'ended')), { once: true });
    this.#showSoon();
    try {
      return await promise;
    } finally {
      this.#open.delete(key);
      room.giveBack(owner, taken);
    }
  }

  stop(reason: unknown): void {
    this.#hide();
    this.#ended.abort(reason);
    this.#refuseAll('ended');
    this.#over.resolve();
  }

  #beginRound(request: ToolRequest): Promise<ServerAnswer> {
    const { promise, resolve: end } = Promise.withResolvers<ServerAnswer>();
    const { timeoutMs, patienceMs = timeoutMs } = request;
    this.#round = { request, deadline: this.#deps.now() + patienceMs, end };
    return promise;
  }

  /** Waits for the end of a round, within its time. */
  async #endOf(shown: Promise<ServerAnswer>): Promise<ServerAnswer> {
    const { request } = this.#round!;
    const { signal, timeoutMs } = request;
    const abort = (): void => this.stop(signal.reason);
    const timer = setTimeout(() => this.stop('the request timed out'), timerMs(timeoutMs));
    signal.addEventListener('abort', abort, { once: true });
    if (signal.aborted) abort();
    try {
      return await Promise.race([this.#answer!, shown]);
    } finally {
      clearTimeout(timer);
      signal.removeEventListener('abort', abort);
    }
  }

  /** Questions that come together are shown together. */
  #showSoon(): void {
    this.#showing ??= setImmediate(() => {
      this.#showing = undefined;
      this.#show();
    });
  }

  #show(): void {
    const round = this.#round;
    if (!round || this.#open.size === 0 || this.#ended.signal.aborted) return;
    this.#round = undefined;
    const { waiting, now } = this.#deps;
    const state = waiting.add(this);
    const timer = setTimeout(
      () => this.stop('its question was not answered in time'),
      timerMs(round.deadline - now()),
    ).unref();
    this.#shown = { state, keys: new Set(this.#open.keys()), timer };
    const inputRequests = Object.fromEntries([...this.#open].map(([key, asked]) => [key, shownOf(asked)]));
    round.end({ result: { resultType: 'input_required', inputRequests, requestState: state } });
    if (this.#isTold) return;
    this.#isTold = true;
    round.request.onAsked?.({ over: this.over, stop: () => this.stop('the call was cancelled') });
  }

  #argumentsLength(): number {
    this.#argumentsCharacters ??= lengthOf(this.identity.args);
    return this.#argumentsCharacters;
  }

  #hide(): void {
    this.#deps.waiting.room.giveBack(this.agent ?? '', { characters: this.#kept });
    this.#kept = 0;
    if (!this.#shown) return;
    clearTimeout(this.#shown.timer);
    this.#deps.waiting.remove(this.#shown.state);
    this.#shown = undefined;
  }

  #take(key: string, answer: unknown): void {
    const question = this.#open.get(key);
    // The server may have withdrawn it.
    if (!question) return;
    this.#open.delete(key);
    const { method, resolve, reject } = question;
    const failure = isJsonObject(answer) && isJsonObject(answer.error) ? answer.error : undefined;
    if (failure) {
      reject(failedAnswer(failure));
      if (failure.isCancelled === true) this.stop('the call was cancelled');
      return;
    }
    const problem = answerProblem(method, answer);
    if (problem === undefined) resolve(answer as Record<string, unknown>);
    else reject(new QuestionError(mcpErrorCode.invalidParams, `the client gave no valid answer: ${problem}`));
  }

  #refuseAll(why: 'ended' | 'too_many'): void {
    for (const { method, reject } of this.#open.values()) reject(refusedQuestion(method, why));
    this.#open.clear();
  }

  #end(answer: ServerAnswer): ServerAnswer {
    // Its caller can still answer the questions that it was shown.
    if (!this.#shown) this.#refuseAll('ended');
    this.#over.resolve();
    if (this.#shown === undefined || !('result' in answer)) return answer;
    const characters = lengthOf(answer.result);
    const isShort = characters <= maxKeptLength;
    if (isShort && !this.#deps.waiting.room.take(this.agent ?? '', { characters })) {
      this.#kept = characters;
      return answer;
    }
    const why = isShort
      ? 'there is no room for more results'
      : `it was longer than ${maxKeptLength} characters`;
    const reason = `its result was not kept until its caller had answered its question: ${why}`;
    return { failure: { kind: 'too_large', reason } };
  }
}

/** Leaves out the fields that concern only the connection to the server, and tasks, which are not relayed. */
function shownOf({ method, params }: ServerQuestion): object {
  const { _meta, task, ...rest } = params;
  const { progressToken, ...meta } = isJsonObject(_meta) ? _meta : {};
  const shown = { ...rest, ...(Object.keys(meta).length > 0 && { _meta: meta }) };
  return { method, params: shown };
}

function failedAnswer({ code, message }: Record<string, unknown>): QuestionError {
  const isCode = Number.isSafeInteger(code);
  const text = typeof message === 'string' ? message.slice(0, 1_000) : 'the client gave no answer';
  return new QuestionError(isCode ? (code as number) : mcpErrorCode.internalError, text);
}

/** Returns the length of a value as JSON; infinity if it nests too deeply to be written. */
function lengthOf(value: unknown): number {
  try {
    return JSON.stringify(value).length;
  } catch {
    return Number.POSITIVE_INFINITY;
  }
}
