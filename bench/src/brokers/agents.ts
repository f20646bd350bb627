/** The orders to the process of the agents. */
export type AgentsOrder =
  | { type: 'connect'; tokens: [name: string, token: string][] }
  | { type: 'wake'; at: string; samples: number }
  /** Remembers which agents are at a broker that is about to be killed. */
  | { type: 'expect'; from: string }
  | { type: 'move'; from: string; killedAt: number };

export interface Connected {
  connectedMs: number;
  /** The number of agents at each broker, by its address. */
  at: Record<string, number>;
}

/** Milliseconds from a kill, for each agent that was moved by it. */
export interface Arrivals {
  subscribedMs: number[];
  servedMs: number[];
}
