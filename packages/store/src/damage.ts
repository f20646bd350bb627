/**
 * Damage with which a store goes on. `what` names the part: `log` and `segment` hold messages, `message` is one message that has lost its
 * body, and `audit` is the whole audit log. The others are rows: `count` counts a sender's pending messages, `request` is a request that
 * can be answered, and `journal` is the journal behind an inbox.
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
  /** A description of the damage, and of the loss. */
  detail: string;
}
