import { openAckNotices } from './ack-notices.ts';
import { peerNamed } from './peers/all-peers.ts';
import type { Facts } from './peers/peer.ts';
import { serveParent, setupOf } from './processes.ts';

/** Takes what one peer's clients send. */
const { peer, facts, socket } = setupOf<{ peer: string; facts: Facts; socket: string }>();
const sides = await peerNamed(peer).sides();
const notices = await openAckNotices(socket);
const consumer = await sides.openConsumer(facts, notices.tell);
serveParent({
  stop: async () => {
    await consumer[Symbol.asyncDispose]();
    notices[Symbol.dispose]();
  },
});
