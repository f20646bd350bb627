import { expect, it } from 'vitest';
import { ProcessSlots, type SlotHolder } from './process-slots.ts';

function holder(idleSinceMs: number | undefined) {
  const gone = Promise.withResolvers<void>();
  let asked = 0;
  const it: SlotHolder = {
    idleSinceMs,
    evict: () => {
      asked++;
      return gone.promise;
    },
  };
  return { it, gone, asked: () => asked };
}

it('takes the slot of the one that has been idle longest, once that one is gone', async () => {
  const slots = new ProcessSlots(3);
  const [busy, old, recent, next] = [holder(undefined), holder(10), holder(20), holder(undefined)];
  for (const one of [busy, recent, old]) await slots.take(one.it);
  const events: string[] = [];
  const mayStart = slots.take(next.it)!.then(() => events.push('may start'));
  expect([busy, old, recent].map(({ asked }) => asked())).toEqual([0, 1, 0]);
  events.push('gone');
  old.gone.resolve();
  await mayStart;
  expect(events).toEqual(['gone', 'may start']);
});

it('refuses when all are in use, and tells those who wait when that changes', async () => {
  const slots = new ProcessSlots(1);
  const [first, second] = [holder(undefined), holder(undefined)];
  await slots.take(first.it);
  expect(slots.take(second.it)).toBeUndefined();
  expect(slots.take(first.it)).toBeDefined();
  let told = 0;
  slots.onSlotFree(() => told++);
  slots.onSlotFree(() => told++)();
  slots.free(second.it);
  expect(told).toBe(0);
  slots.free(first.it);
  slots.free(first.it);
  expect(told).toBe(1);
  expect(slots.take(second.it)).toBeDefined();
});
