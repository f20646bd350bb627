import { z } from 'zod';

/** Describes the operation that lists schedules. */
export function scheduleOperation() {
  const schedule = z
    .object({
      name: z.string(),
      to: z.string(),
      kind: z.string(),
      cron: z.string().optional(),
      time_zone: z.string().optional().describe('That of `cron`.'),
      every_ms: z.number().optional().describe('In place of `cron`.'),
      next_at: z.number().optional().describe('Absent if it never runs again.'),
      last_at: z
        .number()
        .optional()
        .describe('The time for which the last run was planned. Absent if none is remembered.'),
      last_refusal: z.string().optional().describe('Why the message of that run was refused, if it was.'),
    })
    .meta({
      id: 'Schedule',
      title: 'schedule',
      description: 'A schedule of the configuration and its runs.',
    });
  return {
    schedules: {
      meaning: 'Lists the schedules of the configuration, with the next and the last run of each.',
      params: z.object({}),
      result: z.object({ schedules: z.array(schedule) }),
    },
  };
}
