import { parseDuration } from '@signalbox/protocol/internal';
import { runTimes } from '@signalbox/protocol/run-times';
import { z } from 'zod';
import { sentMessages } from './hook-schema.ts';
import { duration, nonEmpty } from './value-schemas.ts';

const catchUpProblem = { error: 'must be a time, as in 2h, or none' };

/** A schedule as an entry of `schedules` is written. */
export const scheduleEntrySchema = z
  .strictObject({
    cron: z
      .string()
      .optional()
      .describe(
        'when it runs: minute, hour, day, month, weekday, as in 0 9 * * 1-5; cron or every must be there',
      ),
    timeZone: nonEmpty.optional().describe('time zone of cron, as in Europe/Oslo; default UTC'),
    every: duration
      .optional()
      .describe('in place of cron: how often it runs, as in 15m, counted from 1970 in UTC; at least 1s'),
    ...sentMessages('task and note'),
    text: nonEmpty.describe('what the messages say; must be there'),
    catchUp: z
      .string(catchUpProblem)
      .refine((text) => text === 'none' || parseDuration(text) !== undefined, catchUpProblem)
      .optional()
      .describe(
        'a run that was missed while no broker ran happens at the next start if it is less old; none: it never does; default: the last one does',
      ),
  })
  .superRefine(({ cron, every, timeZone }, context) => {
    const everyMs = every === undefined ? undefined : parseDuration(every);
    if (every !== undefined && everyMs === undefined) return;
    const times = runTimes({ cron, everyMs, timeZone });
    if (!('problem' in times)) return;
    const path = times.field === 'everyMs' ? 'every' : times.field;
    context.addIssue({ code: 'custom', path: [path], message: times.problem });
  });
