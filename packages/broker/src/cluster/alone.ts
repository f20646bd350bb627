import type { ClusterPort, InboxStore, PresencePort } from '@signalbox/store';

const nobodyElsewhere: PresencePort = {
  broker: undefined,
  present() {},
  absent() {},
  elsewhere: async () => [],
  connectedElsewhere: async () => new Set(),
  brokers: async () => [],
  async tellBrokers() {},
  onTold() {},
};

/** Makes the cluster of a broker that is the only one on its store: it holds every inbox that one of its consumers holds. */
export function alone(store: Pick<InboxStore, 'read'>): ClusterPort {
  return {
    isAlone: true,
    keepsHouse: true,
    isCutOff: false,
    presence: nobodyElsewhere,
    listen() {},
    take: async () => 0,
    async join() {},
    leasedElsewhere: async () => new Set(),
    giveBack() {},
    tell: () => false,
    read: (inbox, afterSeq, limit, maxBytes) => store.read(inbox, afterSeq, limit, maxBytes),
    async claim(inbox, { after, limit, maxBytes }) {
      const messages = await store.read(inbox, after, limit, maxBytes);
      return { messages, upTo: messages.at(-1)?.seq ?? after, isAll: messages.length === 0 };
    },
    async claimAgain(inbox, seq) {
      const [message] = await store.read(inbox, seq - 1, 1, 1);
      return message?.seq === seq ? message : undefined;
    },
    async unclaim() {},
  };
}
