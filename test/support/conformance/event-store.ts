import type { EventStore } from '@modelcontextprotocol/server';

/** Keeps the messages of one session, so that a client can pick up a stream where it broke off. */
export function eventStore(): EventStore {
  const events: { stream: string; message: Parameters<EventStore['storeEvent']>[1] }[] = [];
  return {
    storeEvent: async (stream, message) => String(events.push({ stream, message })),
    async replayEventsAfter(lastId, { send }) {
      const after = Number(lastId);
      const stream = events[after - 1]!.stream;
      for (const [index, event] of events.entries()) {
        if (index >= after && event.stream === stream) await send(String(index + 1), event.message);
      }
      return stream;
    },
  };
}
