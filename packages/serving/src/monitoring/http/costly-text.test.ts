import { expect, it } from 'vitest';
import { CostlyText } from './costly-text.ts';

it('makes a text once for all who ask at the same time, and again when it is twenty times as old as it took', async () => {
  let now = 0;
  let made = 0;
  const text = new CostlyText(
    async () => {
      now += 10;
      return `text ${++made}`;
    },
    () => now,
  );
  const asked = await Promise.all([text.get(), text.get(), text.get()]);
  expect(asked.map(String)).toEqual(['text 1', 'text 1', 'text 1']);
  now += 199;
  expect(String(await text.get())).toBe('text 1');
  now += 1;
  expect(String(await text.get())).toBe('text 2');
});

it('asks again after a failure', async () => {
  let isBroken = true;
  const text = new CostlyText(
    async () => {
      if (isBroken) throw new Error('broken');
      return 'text';
    },
    () => 0,
  );
  await expect(text.get()).rejects.toThrow('broken');
  isBroken = false;
  expect(String(await text.get())).toBe('text');
});
