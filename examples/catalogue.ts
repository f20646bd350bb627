/** The agent and the role of a token. With a pattern like `fan-*` as its agent, a token can only issue other tokens. */
export interface ExampleToken {
  agent: string;
  role: string;
}

/** One example, as `npm run example` lists it. */
export interface Example {
  about: string;
  /** The token in the file that each variable of its environment names; absent if it starts a broker by itself. */
  tokens?: Record<string, ExampleToken>;
}

/** The examples by the names of their folders. */
export const examples: Readonly<Record<string, Example>> = {
  'agent-loop': {
    about: 'a model in a loop with tools: concurrent calls, and what to do with each kind of error',
    tokens: { SIGNALBOX_TOKEN_FILE: { agent: 'clerk', role: 'clerk' } },
  },
  'ask-reply': {
    about: 'one agent asks, another answers: progress, a cancel, a deadline, a wrong name',
    tokens: {
      SIGNALBOX_TOKEN_FILE: { agent: 'asker', role: 'worker' },
      ANSWERER_TOKEN_FILE: { agent: 'answerer', role: 'worker' },
    },
  },
  embedded: {
    about: 'a program that runs a broker and an orchestrator in its own process, from a configuration',
  },
  'fan-out': {
    about: 'eight worker processes, one deadline, and an outcome for each of them, also when one is killed',
    tokens: {
      SIGNALBOX_TOKEN_FILE: { agent: 'boss', role: 'worker' },
      MINTING_TOKEN_FILE: { agent: 'fan-*', role: 'worker' },
    },
  },
};
