import type { ClientFrame } from '@signalbox/protocol';
import { admin } from './admin/admin.ts';
import { audit } from './audit.ts';
import type { Caller } from './caller.ts';
import { cancel } from './cancel.ts';
import { checkTokens } from './check-tokens.ts';
import { deliver } from './deliver/deliver.ts';
import { find } from './find.ts';
import { followHolds, followRights, holdsKnown } from './follows.ts';
import type { FrameDeps } from './frame-deps.ts';
import { laneCalls, openLane, serveLanes } from './lanes.ts';
import { listScheduled } from './list-scheduled.ts';
import { metrics } from './metrics.ts';
import type { Outcome } from './outcome.ts';
import { peek } from './peek.ts';
import { announce, listConnected } from './presence.ts';
import { ack, nack, working } from './settle.ts';
import { subscribe } from './subscribe.ts';

/** Handles the frames of one type. Returns a promise only if later frames of the connection must wait for the outcome. */
type FrameHandler<F extends ClientFrame> = (
  frame: F,
  caller: Caller,
  deps: FrameDeps,
  body: string | undefined,
) => Outcome | Promise<Outcome>;

const handlers: { [T in ClientFrame['type']]: FrameHandler<Extract<ClientFrame, { type: T }>> } = {
  hello: () => ({
    refusal: { code: 'bad_frame', message: "a second 'hello' on one connection", field: 'type' },
  }),
  deliver,
  ack,
  nack,
  working,
  subscribe,
  cancel,
  announce,
  list_connected: listConnected,
  list_scheduled: listScheduled,
  peek,
  find,
  audit,
  metrics,
  check_tokens: checkTokens,
  follow_holds: followHolds,
  holds_known: holdsKnown,
  follow_rights: followRights,
  serve_lanes: serveLanes,
  open_lane: openLane,
  lane_calls: laneCalls,
  admin,
};

/** Handles one frame of a connection that said `hello`. Returns a promise only if later frames of the connection must wait for it. */
export function handleFrame(
  frame: ClientFrame,
  caller: Caller,
  deps: FrameDeps,
  body: string | undefined,
): Outcome | Promise<Outcome> {
  if (caller.mintsOnly && frame.type !== 'admin') {
    return {
      refusal: { code: 'forbidden', message: 'a minting token may only issue and revoke child tokens' },
    };
  }
  const handler = handlers[frame.type] as FrameHandler<ClientFrame>;
  return handler(frame, caller, deps, body);
}
