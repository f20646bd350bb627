import type { InboxStore } from '@signalbox/store';

/** The same store, whose reads are answered only when they are let go, with what they found when they began. */
export function lateReads(store: InboxStore): { store: InboxStore; waiting: (() => void)[] } {
  const waiting: (() => void)[] = [];
  const read: InboxStore['read'] = async (...args) => {
    const found = await store.read(...args);
    await new Promise<void>((resolve) => waiting.push(resolve));
    return found;
  };
  const late = new Proxy(store, {
    get(target, name) {
      if (name === 'read') return read;
      const member = Reflect.get(target, name, target);
      return typeof member === 'function' ? member.bind(target) : member;
    },
  });
  return { store: late, waiting };
}
