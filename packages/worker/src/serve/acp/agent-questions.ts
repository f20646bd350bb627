import { newMessageId } from '@signalbox/client';
import { isJsonObject } from '@signalbox/protocol';
import { within } from '@signalbox/serving';
import type { TurnTalk, Verdict } from '../program/turn-program.ts';
import type { AcpAgent } from './acp-agents.ts';
import type { PermissionOutcome, PermissionRequest } from './acp-connection.ts';
import type { ToolCalls } from './tool-calls.ts';
import type { ToolFacts } from './tool-facts.ts';

/** The answer to an agent's questions for permissions: a person gives it, or each is denied or allowed without one. */
export type Permissions = 'ask' | 'deny' | 'allow';

/** The most questions of one turn that wait for a person at a time. Further ones wait until one of them is decided. */
const maxOpen = 3;
/** The longest wait for arguments that an agent tells after its question, in milliseconds. */
const argumentsWaitMs = 5_000;
/** The most times that one question is asked because the agent changed what it wants to do. */
const maxChanges = 10;

/** The words that stand in a question for what the agent did not tell. */
const notTold = 'not told';

interface AgentQuestionsOptions {
  agent: AcpAgent;
  permissions: Permissions;
  calls: ToolCalls;
  talk: Pick<TurnTalk, 'ask' | 'noteAllowed'>;
}

/**
 * Decides on the questions of an agent in one turn. Each is answered once, and with `cancelled` after the end of the turn. Nothing is ever
 * allowed for longer than one use.
 */
export class AgentQuestions {
  /** The reasons with which uses of tools were denied. */
  readonly denials: string[] = [];
  /** Why a question could not be decided. It may be decided when the message comes again. */
  undecided: string | undefined;
  readonly #options: AgentQuestionsOptions;
  readonly #over = new AbortController();
  #open = 0;
  readonly #waiting: (() => void)[] = [];

  constructor(options: AgentQuestionsOptions) {
    this.#options = options;
  }

  /** Cancels the open questions, and each that comes later. */
  end(): void {
    this.#over.abort();
  }

  /** Decides on one question. `withdrawn` is aborted when the agent no longer wants to know. */
  async decide(
    { toolCallId, options }: PermissionRequest,
    withdrawn: AbortSignal,
  ): Promise<PermissionOutcome> {
    const facts = this.#options.calls.get(toolCallId) ?? { meta: {} };
    const optionOf = (kind: string) => options.find((option) => option.kind === kind)?.optionId;
    const [allow, reject] = [optionOf('allow_once'), optionOf('reject_once')];
    const signal = AbortSignal.any([this.#over.signal, withdrawn]);
    const verdict: Verdict =
      allow === undefined
        ? denied('its agent offers no way to allow one use alone')
        : await this.#verdict(toolCallId, facts, signal);
    if (signal.aborted) return { outcome: 'cancelled' };
    if (verdict.isAllowed) return { outcome: 'selected', optionId: allow! };
    if (verdict.isDecided) this.denials.push(verdict.reason);
    else this.undecided = verdict.reason;
    return reject === undefined || !verdict.isDecided
      ? { outcome: 'cancelled' }
      : { outcome: 'selected', optionId: reject };
  }

  async #verdict(id: string, facts: ToolFacts, signal: AbortSignal): Promise<Verdict> {
    const { agent, permissions, talk } = this.#options;
    if (agent.isOurs?.(facts)) return { isAllowed: true };
    const tool = toolName(facts);
    if (permissions === 'allow') {
      await talk.noteAllowed({ cli: agent.name, tool });
      return { isAllowed: true };
    }
    if (permissions === 'deny') {
      return denied(
        `${agent.name}:${tool}: signalbox worker serve allows it only with --permissions ask or allow`,
      );
    }
    await this.#place(signal);
    try {
      return await this.#asked(id, facts, signal);
    } finally {
      this.#open--;
      for (const wake of this.#waiting.splice(0)) wake();
    }
  }

  /** Waits until fewer questions are open. */
  async #place(signal: AbortSignal): Promise<void> {
    while (this.#open >= maxOpen && !signal.aborted) {
      const { promise, resolve } = Promise.withResolvers<void>();
      this.#waiting.push(resolve);
      signal.addEventListener('abort', () => resolve(), { once: true });
      await promise;
    }
    this.#open++;
  }

  /** Asks a person, and again for each change of what was shown: an approval holds only for that. */
  async #asked(id: string, first: ToolFacts, signal: AbortSignal): Promise<Verdict> {
    const { agent, calls, talk } = this.#options;
    let facts = calls.get(id) ?? first;
    let onChange = (): void => {};
    const unwatch = calls.onChanged((changed) => {
      const told = changed === id ? calls.get(id) : undefined;
      if (!told) return;
      facts = told;
      onChange();
    });
    const next = (isAwaited: () => boolean): Promise<'changed'> =>
      new Promise((resolve) => {
        onChange = () => isAwaited() && resolve('changed');
      });
    try {
      if (agent.argumentsFollow && !isTold(facts))
        await within(
          next(() => isTold(facts)),
          argumentsWaitMs,
          signal,
        );
      let replaces: string | undefined;
      for (let change = 0; change < maxChanges && !signal.aborted; change++) {
        const shown = questionOf(agent, facts);
        const bound = boundText(shown);
        const isChanged = () => boundText(questionOf(agent, facts)) !== bound;
        const requestId = newMessageId();
        const question = { cli: agent.name, ...shown, ...(replaces !== undefined && { replaces }) };
        const answer = await Promise.race([talk.ask(question, { id: requestId, signal }), next(isChanged)]);
        if (answer !== 'changed' && !isChanged()) return answer;
        replaces = requestId;
      }
      return denied('what it wants to do changed each time that a person was asked');
    } finally {
      unwatch();
    }
  }
}

function denied(reason: string): Verdict {
  return { isAllowed: false, reason, isDecided: true };
}

interface Shown {
  tool: string;
  input: Record<string, unknown>;
  /** True if an answer may hold for this use alone, because nobody knows what a further use would do. */
  once: boolean;
}

/** Returns a question as a person is shown it. */
function questionOf(agent: AcpAgent, facts: ToolFacts): Shown {
  const { title, kind, input, paths, content } = facts;
  const once = !isTold(facts);
  return {
    tool: toolName(facts),
    input: {
      ...(title !== undefined && { title }),
      ...(kind !== undefined && { kind }),
      arguments: once ? `${notTold} by ${agent.name}` : input,
      ...(paths?.length && { paths }),
      ...(content?.length && { content }),
    },
    once,
  };
}

/** Returns what an approval is bound to. The title may change, unless it is all that a person was shown. */
function boundText({ tool, input: { title, ...input }, once }: Shown): string {
  return JSON.stringify([tool, input, once && title]);
}

function isTold({ input }: ToolFacts): boolean {
  if (isJsonObject(input)) return Object.keys(input).length > 0;
  return input !== undefined && input !== null;
}

/** The tool by the agent's own name for it, and otherwise by its kind. */
function toolName({ name, kind, input, meta }: ToolFacts): string {
  const own = (isJsonObject(meta.claudeCode) ? meta.claudeCode.toolName : undefined) ?? meta.toolName;
  const ofServer =
    isJsonObject(input) && typeof input.server === 'string' && typeof input.tool === 'string'
      ? `${input.server}/${input.tool}`
      : undefined;
  const [found = 'tool'] = [name, own, ofServer, kind].filter((one) => typeof one === 'string' && one !== '');
  return String(found)
    .replace(/[^\x21-\x7e]+/g, '_')
    .slice(0, 200);
}
