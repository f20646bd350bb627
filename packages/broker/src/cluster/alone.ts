import type { ClusterPort, InboxStore } from '@signalbox/store';

/** The cluster of a broker that is the only one on its store: it holds every inbox that a consumer of its holds. */
export function alone(store: Pick<InboxStore, 'read'>): ClusterPort {
  return {
    isAlone: true,
    listen() {},
    async take() {},
    heldElsewhere: async () => new Set(),
    giveBack() {},
    tell: () => false,
    read: (inbox, afterSeq, limit, maxBytes) => store.read(inbox, afterSeq, limit, maxBytes),
  };
}
