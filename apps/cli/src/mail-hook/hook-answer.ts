/** The events of agent CLIs at which a model is told of mail, and how its CLI takes the text. */
const answers: Readonly<Record<string, (event: string, hint: string) => object>> = {
  // Claude Code and Qwen Code, and Gemini CLI, before a turn.
  UserPromptSubmit: withContext,
  BeforeAgent: withContext,
  // The same, when the model wants to end its turn.
  Stop: goOn,
  AfterAgent: goOn,
};

/** Copilot has the events of Claude Code, and takes the text before a turn in another form. */
const copilotAnswers: typeof answers = {
  UserPromptSubmit: (_event, hint) => ({ additionalContext: hint }),
  Stop: goOn,
};

/** The part of what a CLI tells its hooks that counts here. */
export interface HookEvent {
  name: string;
  /** Writes the answer that gives the model a hint. */
  answer(hint: string): object;
}

/**
 * Reads what a CLI writes to a hook; `cli` is "copilot" for that one. Returns `undefined` for an event at which nothing is told. A turn that
 * a hook has prolonged once is not prolonged again, so that agents that write to each other do not keep each other from ending.
 */
export function hookEventOf(input: string, cli?: string): HookEvent | undefined {
  const known = cli === 'copilot' ? copilotAnswers : answers;
  let event: unknown;
  try {
    event = JSON.parse(input);
  } catch {
    return undefined;
  }
  if (typeof event !== 'object' || event === null) return undefined;
  const { hook_event_name: name, stop_hook_active: isProlonged } = event as Record<string, unknown>;
  if (typeof name !== 'string' || !Object.hasOwn(known, name) || isProlonged === true) return undefined;
  return { name, answer: (hint) => known[name]!(name, hint) };
}

function withContext(event: string, hint: string): object {
  return { hookSpecificOutput: { hookEventName: event, additionalContext: hint } };
}

function goOn(_event: string, hint: string): object {
  return {
    decision: 'block',
    reason: `${hint} Decide what to do about your mail; then give your final answer again, because only the last one counts.`,
  };
}
