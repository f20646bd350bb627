import { z } from 'zod';

/** Describes the operations on the broker's clock. */
export function clockOperations() {
  const hold = z
    .object({
      from: z.number().describe('The time before the leap, in epoch milliseconds.'),
      to: z.number().describe('The time after the leap, in epoch milliseconds.'),
      at_start: z
        .boolean()
        .describe('True if the broker found it when it started: perhaps no broker ran in that time.'),
      left_ms: z.number().describe('The broker trusts the clock after this time.'),
      requests: z
        .int()
        .describe('Requests that are not pushed, and get `undeliverable` when the broker trusts the clock.'),
      messages: z.int().describe('Other messages that become dead letters when the broker trusts the clock.'),
    })
    .meta({
      id: 'ClockHold',
      title: 'clock hold',
      description: 'A leap of the broker’s clock that it does not trust yet, and what waits because of that.',
    });
  return {
    clock: {
      meaning: 'Tells whether the broker’s clock leapt forward, and what is held back because of that.',
      params: z.object({}),
      result: z.object({ hold: hold.optional().describe('Absent if the broker trusts its clock.') }),
    },
    clock_accept: {
      meaning: 'Makes the broker trust its clock from now on: what is held back expires.',
      params: z.object({}),
      result: z.object({ hold: hold.optional().describe('What was held back. Absent if nothing was.') }),
    },
  };
}
