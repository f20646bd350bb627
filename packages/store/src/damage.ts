/**
 * Damage that a store found and goes on with. `what` names the part: `log` and `segment` hold messages, `message` is one that has
 * lost its body, and the others are rows of that name.
 */
export interface Damage {
  what: 'log' | 'segment' | 'message' | 'dead_letter' | 'token' | 'agent';
  /** The damage in words, with what is lost. */
  detail: string;
}
