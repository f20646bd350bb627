import type { ClientFrame } from './client-frames.ts';

/** The cost of a frame of each type, in units of the limit `rates.frames`. One unit is about the work of an `ack` of one message. */
export const frameCosts = {
  hello: 100,
  deliver: 1,
  ack: 1,
  nack: 1,
  working: 1,
  subscribe: 100,
  cancel: 20,
  announce: 2,
  list_connected: 30,
  list_scheduled: 50,
  peek: 50,
  find: 20,
  audit: 20,
  metrics: 20,
  check_tokens: 20,
  follow_holds: 20,
  holds_known: 1,
  follow_rights: 20,
  serve_lanes: 20,
  open_lane: 100,
  lane_calls: 1,
  admin: 20,
} as const satisfies Record<ClientFrame['type'], number>;

/** The costs that are added to those of {@link frameCosts}. */
export const furtherCosts = {
  /** A WebSocket message, whether it holds frames or not, and a ping. */
  webSocketMessage: 0.5,
  /** A frame that is refused for any reason. */
  refused: 20,
  /** A sequence number of an `ack`, a `nack` or a `working` beyond the first. */
  seq: 0.02,
  /** A copy of a message that is sent to all members of a group. */
  copy: 1,
  /** A connection of the broker, for `list_connected`, which sorts them all. */
  connection: 0.5,
  /** An agent that the operation `waiting` may look at: it reads the oldest message of each. */
  waitingAgent: 2,
  /** A token that is issued or revoked: its change is synced to the disk while all connections wait. */
  tokenChange: 300,
  /** A hold that is placed or released: its change is synced to the disk while all connections wait. */
  holdChange: 300,
  /** A token of an identity provider whose signature has to be checked. */
  providerToken: 50,
  /** A byte of the bodies that `peek` returns. */
  peekedByte: 1 / 4096,
} as const;
