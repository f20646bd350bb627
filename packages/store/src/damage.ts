/**
 * Damage that a store found and goes on with. `what` names the part: `log` and `segment` hold messages, `message` is one that has
 * lost its body, `audit` is the whole audit log, and the others are rows of that name: `count` of what is
 * pending of a sender, `request` of a request that can be answered, `journal` of the journal behind an inbox.
 */
export interface Damage {
  what:
    | 'log'
    | 'segment'
    | 'message'
    | 'dead_letter'
    | 'token'
    | 'agent'
    | 'hold'
    | 'audit'
    | 'count'
    | 'request'
    | 'journal';
  /** The damage in words, with what is lost. */
  detail: string;
}
