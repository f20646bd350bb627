import type { ClusterPort, InboxStore, PresencePort } from '@signalbox/store';

const nobodyElsewhere: PresencePort = {
  broker: undefined,
  present() {},
  absent() {},
  elsewhere: async () => [],
  connectedElsewhere: async () => new Set(),
  brokers: async () => [],
};

/** The cluster of a broker that is the only one on its store: it holds every inbox that a consumer of its holds. */
export function alone(store: Pick<InboxStore, 'read'>): ClusterPort {
  return {
    isAlone: true,
    keepsHouse: true,
    presence: nobodyElsewhere,
    listen() {},
    async take() {},
    heldElsewhere: async () => new Set(),
    giveBack() {},
    tell: () => false,
    read: (inbox, afterSeq, limit, maxBytes) => store.read(inbox, afterSeq, limit, maxBytes),
  };
}
