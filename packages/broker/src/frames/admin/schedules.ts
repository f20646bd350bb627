import type { AdminParams, AdminResult } from '@signalbox/protocol';
import { runMessageId } from '../../schedules/schedule-runs.ts';
import type { Run, Schedule } from '../../schedules/schedules.ts';
import type { FrameDeps } from '../frame-deps.ts';
import type { OperationOutcome } from './operation.ts';

/** Runs `schedules`: lists the schedules with their next and their last run. */
export async function listSchedules(
  _params: AdminParams<'schedules'>,
  { schedules, store, time }: Pick<FrameDeps, 'schedules' | 'store' | 'time'>,
): OperationOutcome<'schedules'> {
  const { earliest } = time.look();
  const listed: AdminResult<'schedules'>['schedules'] = [];
  for (const schedule of schedules.all()) {
    const lastRun = schedule.lastRun ?? (await runBefore(schedule, earliest, store));
    listed.push(describe(schedule, earliest, lastRun));
  }
  return { result: { schedules: listed } };
}

/** Returns the last run of an earlier broker, if the store still has its message. */
async function runBefore(
  { name, sender, entry, times }: Schedule,
  now: number,
  store: Pick<FrameDeps['store'], 'find'>,
): Promise<Pick<Run, 'dueAt' | 'refusal'> | undefined> {
  const dueAt = times.last(now);
  if (dueAt === undefined) return undefined;
  const found = await store.find(entry.to, sender.agent, runMessageId(name, dueAt));
  return found && { dueAt };
}

function describe(
  { name, entry, times }: Schedule,
  now: number,
  lastRun: Pick<Run, 'dueAt' | 'refusal'> | undefined,
): AdminResult<'schedules'>['schedules'][number] {
  const { to, kind, cron, everyMs, timeZone } = entry;
  const nextAt = times.next(now);
  return {
    name,
    to,
    kind,
    ...(cron !== undefined && { cron, time_zone: timeZone ?? 'UTC' }),
    ...(everyMs !== undefined && { every_ms: everyMs }),
    ...(nextAt !== undefined && { next_at: nextAt }),
    ...(lastRun && { last_at: lastRun.dueAt }),
    ...(lastRun?.refusal !== undefined && { last_refusal: lastRun.refusal }),
  };
}
