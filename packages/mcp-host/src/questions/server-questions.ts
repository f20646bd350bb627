import { isQuestionMethod, type QuestionMethod } from '@signalbox/protocol';
import { PassingList } from '@signalbox/serving';
import type { ServerAnswer, ToolRequest } from '../server-connection.ts';
import { mcpErrorCode } from '../tool-calls/index.ts';
import { type AskableBy, addresseeOf, type ServerQuestion } from './addressee.ts';
import { type Askable, askableOf, canAnswer } from './askable.ts';
import { QuestionError, type Refusal, refusedQuestion } from './question-refusal.ts';
import { RunningCall, type RunningCallDeps } from './running-call.ts';

/**
 * The time for which a question before any call waits for the first call, in milliseconds. A server often asks when its session begins,
 * just before the call for which an instance was started.
 */
const firstCallMs = 10_000;
const maxEarly = 4;

/** The time for which a call that was given up still counts, in milliseconds: the server may still work on it, and ask for it. */
const givenUpMs = 60_000;

/** The empty set of questions, for a caller that can't be asked. */
const noQuestions: Askable = {};

/** The dependencies of {@link ServerQuestions}. */
export interface ServerQuestionsDeps extends RunningCallDeps {
  /** The server in the configuration. */
  server: string;
  /** The questions that the session declares to the server. */
  declared: Askable;
  /** True if several agents may use the session. */
  isShared: boolean;
  /** Called with each question that is refused. */
  onRefused: (method: QuestionMethod, why: Refusal) => void;
}

/** A call of a tool, or a request of another method with its parameters. */
export interface AskedOfServer {
  name: string;
  args: Record<string, unknown>;
}

/** Knows the running calls of one session with a server of a revision up to 2025-11-25, and passes its questions to their callers. */
export class ServerQuestions {
  readonly #deps: ServerQuestionsDeps;
  /** The running calls, the newest last. */
  readonly #calls = new PassingList<AskableBy>();
  /** Wakes the questions that came before any call. */
  readonly #early = new Set<() => void>();
  /** The agents of calls that were given up, with the time at which each stops counting. */
  readonly #givenUp = new Map<string | undefined, number>();

  constructor(deps: ServerQuestionsDeps) {
    this.#deps = deps;
  }

  /** Makes a call that the server may ask questions for, if its caller can be asked. Never rejects if `send` doesn't. */
  run(
    { name, args }: AskedOfServer,
    request: ToolRequest,
    send: (request: ToolRequest) => Promise<ServerAnswer>,
  ): Promise<ServerAnswer> {
    const { agent, round } = request;
    const askable = round?.clientCapabilities ? askableOf(round.clientCapabilities) : noQuestions;
    if (Object.keys(askable).length === 0)
      return this.#whileRunning({ agent, askable: noQuestions }, request, send);
    const identity = { server: this.#deps.server, agent, name, args };
    const call = new RunningCall(identity, askable, this.#deps);
    return call.run(request, (whole) => this.#whileRunning(call, whole, send));
  }

  /** The agents whose calls run, or were given up within the last minute: a message of the server may belong to any of them. */
  agents(): Set<string | undefined> {
    this.#forgetGivenUp();
    return new Set([...[...this.#calls].map(({ agent }) => agent), ...this.#givenUp.keys()]);
  }

  /** Answers a request of the server. Rejects with `QuestionError`. */
  async answer(
    { method, params = {} }: { method: string; params?: Record<string, unknown> | undefined },
    signal: AbortSignal,
  ): Promise<Record<string, unknown>> {
    if (!isQuestionMethod(method)) throw new QuestionError(mcpErrorCode.methodNotFound, 'Method not found');
    try {
      const addressee = await this.#addressee({ method, params }, signal);
      if (!(addressee instanceof RunningCall)) throw refusedQuestion(method, addressee);
      return await addressee.ask({ method, params }, signal);
    } catch (thrown) {
      const why = thrown instanceof QuestionError ? refusalOf(thrown) : undefined;
      if (why !== undefined) this.#deps.onRefused(method, why);
      throw thrown;
    }
  }

  /** Finds the call whose caller is asked. In an instance of one agent, the agent's next call is waited for. */
  async #addressee(question: ServerQuestion, signal: AbortSignal): Promise<RunningCall | Refusal> {
    const found = this.#runningAddressee(question);
    if (found !== 'no_call' || this.#deps.isShared || this.#early.size >= maxEarly) return found;
    await this.#nextCall(signal);
    return this.#runningAddressee(question);
  }

  #nextCall(signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const wake = (): void => {
        clearTimeout(timer);
        signal.removeEventListener('abort', wake);
        this.#early.delete(wake);
        resolve();
      };
      const timer = setTimeout(wake, firstCallMs).unref();
      signal.addEventListener('abort', wake, { once: true });
      this.#early.add(wake);
    });
  }

  #runningAddressee(question: ServerQuestion): RunningCall | Refusal {
    const { declared, isShared } = this.#deps;
    if (!canAnswer(declared, question.method, question.params)) return 'not_declared';
    this.#forgetGivenUp();
    const givenUpBy = [...this.#givenUp.keys()];
    const found = addresseeOf(question, [...this.#calls], { isShared, givenUpBy });
    if (typeof found === 'string') return found;
    return found instanceof RunningCall ? found : 'not_able';
  }

  #forgetGivenUp(): void {
    const now = this.#deps.now();
    for (const [agent, untilMs] of this.#givenUp) if (untilMs <= now) this.#givenUp.delete(agent);
  }

  async #whileRunning(
    call: AskableBy,
    request: ToolRequest,
    send: (request: ToolRequest) => Promise<ServerAnswer>,
  ): Promise<ServerAnswer> {
    const place = this.#calls.add(call);
    if (this.#early.size > 0) for (const wake of this.#early) wake();
    try {
      const answer = await send(request);
      const isGivenUp = 'failure' in answer && answer.failure.kind === 'timed_out';
      if (isGivenUp) this.#givenUp.set(call.agent, this.#deps.now() + givenUpMs);
      return answer;
    } finally {
      this.#calls.remove(place);
    }
  }
}

function refusalOf({ data }: QuestionError): Refusal | undefined {
  return (data as { reason?: Refusal } | undefined)?.reason;
}
