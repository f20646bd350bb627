import { isGroup } from '@signalbox/protocol';
import type { ClusterPort, ExpiryTime, InboxStore, NewMessage } from '@signalbox/store';
import { auditEvent } from '../audit-event.ts';
import { lifetimeOf, openUntil } from '../core/message-header.ts';
import type { DeliverResult } from '../core/producer.ts';
import { receiptOf } from '../frames/deliver/receipt.ts';
import type { FrameDeps } from '../frames/frame-deps.ts';
import type { Refusal } from '../frames/outcome.ts';
import { dueRun } from './due-run.ts';
import { passOver, type Schedule } from './schedules.ts';

/** The time after which a run whose message was refused is tried again, until the next run is due. In milliseconds. */
const retryMs = 10_000;

/** The dependencies of {@link ScheduleRuns}. */
export interface ScheduleRunsDeps
  extends Pick<
    FrameDeps,
    | 'schedules'
    | 'delivery'
    | 'agents'
    | 'groups'
    | 'limits'
    | 'metrics'
    | 'audit'
    | 'time'
    | 'now'
    | 'monotonic'
    | 'log'
  > {
  cluster: Pick<ClusterPort, 'keepsHouse'>;
  /** Returns the stored value of {@link ScheduleRuns.reached}. */
  keptTime: InboxStore['keptTime'];
}

/**
 * Sends the messages of schedules when they are due. A schedule follows the time by which scheduled messages are due, so that a step of the
 * clock makes no run early. If several brokers share a store, the one that keeps house does the runs for all. A broker that takes over
 * continues at the reached time.
 */
export class ScheduleRuns {
  readonly #deps: ScheduleRunsDeps;
  /** The time when the refused run of a schedule may be tried again, in monotonic milliseconds. */
  readonly #retryAt = new WeakMap<Schedule, number>();

  readonly #upSince: number;
  /** True while another broker does the runs. */
  #isStandby: boolean;
  #reached: ExpiryTime | undefined;

  constructor(deps: ScheduleRunsDeps) {
    this.#deps = deps;
    this.#isStandby = !deps.cluster.keepsHouse;
    this.#upSince = deps.now();
  }

  /** Does the due runs, unless another broker does them. Call it repeatedly. */
  async check(): Promise<void> {
    if (!this.#deps.cluster.keepsHouse) {
      this.#isStandby = true;
      return;
    }
    if (this.#isStandby) await this.#takeOver();
    const { times, earliest: now, latest } = this.#deps.time.look();
    const reached = { times: [...times], earliest: now, latest };
    // The clock was ahead when a schedule was made.
    for (const schedule of this.#deps.schedules.all())
      if (schedule.doneUntil > latest) passOver(schedule, latest);
    await Promise.all(this.#dueAt(now).map((schedule) => this.#runLast(schedule, now)));
    this.#reached = reached;
  }

  /** The time up to which all runs are done or were refused. A later broker continues from there. `undefined` before the first check. */
  get reached(): ExpiryTime | undefined {
    const time = this.#deps.time.look();
    return this.#dueAt(time.earliest).length === 0 ? time : this.#reached;
  }

  #dueAt(now: number): Schedule[] {
    return [...this.#deps.schedules.all()].filter(({ nextAt }) => nextAt !== undefined && nextAt <= now);
  }

  /**
   * Skips the runs that the previous broker has done. Runs that it did after it last stored its time are done again, and their messages are
   * stored once.
   */
  async #takeOver(): Promise<void> {
    const kept = await this.#deps.keptTime();
    for (const schedule of this.#deps.schedules.all())
      if (kept && kept.earliest > schedule.doneUntil) passOver(schedule, kept.earliest);
    this.#isStandby = false;
  }

  async #runLast(schedule: Schedule, now: number): Promise<void> {
    const { monotonic } = this.#deps;
    const { times, doneUntil: after, entry } = schedule;
    if ((this.#retryAt.get(schedule) ?? 0) > monotonic()) return;
    const dueAt = dueRun(times, { after, now, upSince: this.#upSince, catchUpMs: entry.catchUpMs });
    const refusal = dueAt === undefined ? undefined : await this.#run(schedule, dueAt);
    if (refusal) this.#retryAt.set(schedule, monotonic() + retryMs);
    else {
      this.#retryAt.delete(schedule);
      passOver(schedule, now);
    }
  }

  /** Stores the message of one run. Returns the reason if it was refused. */
  async #run(schedule: Schedule, dueAt: number): Promise<Refusal | undefined> {
    const { delivery, agents, groups, limits, now } = this.#deps;
    const { to } = schedule.entry;
    if (!(isGroup(to) ? groups.has(to) : agents.has(to))) {
      const message = `no agent or group '${to}' is known, to which schedules.${schedule.name} sends`;
      return this.#refused(schedule, dueAt, { code: 'unknown_recipient', message });
    }
    const message = this.#messageOf(schedule, dueAt);
    const result = await new Promise<DeliverResult>((resolve) => {
      delivery.deliver(message, { sender: schedule.sender, answer: (_, stored) => resolve(stored) });
    });
    const receipt = receiptOf(message, result, limits, {
      isLeased: (inbox) => delivery.isLeased(inbox),
      hasMembers: (group) => groups.hasMembers(group),
    });
    if (!('type' in receipt)) return this.#refused(schedule, dueAt, receipt);
    schedule.lastRun = { dueAt, at: now() };
    return undefined;
  }

  #messageOf({ name, sender, entry }: Schedule, dueAt: number): NewMessage {
    const { limits, now } = this.#deps;
    const own = limits.of(sender.role);
    const createdAt = now();
    const expiresAt = createdAt + lifetimeOf(own.message);
    return {
      inbox: entry.to,
      id: runMessageId(name, dueAt),
      sender: sender.agent,
      senderAddress: sender.address,
      senderRole: sender.role,
      kind: entry.kind,
      createdAt,
      expiresAt,
      openUntil: openUntil(entry.kind, expiresAt),
      body: JSON.stringify(entry.text),
      quota: own,
    };
  }

  /** Logs once for each run that its message was refused. */
  #refused(schedule: Schedule, dueAt: number, refusal: Refusal): Refusal {
    const { metrics, audit, now, log } = this.#deps;
    const { name, sender, lastRun } = schedule;
    const { code, message } = refusal;
    const isNews = lastRun?.dueAt !== dueAt;
    schedule.lastRun = { dueAt, at: now(), refusal: message };
    metrics.refused(code);
    if (!isNews) return refusal;
    const detail = `the run of ${new Date(dueAt).toISOString()}: ${message}`;
    audit.record(auditEvent(code, { at: now(), agent: sender.agent, role: sender.role, name, detail }));
    log({ level: 'warn', event: 'schedule_refused', schedule: name, message: detail });
    return refusal;
  }
}

/** Returns the id of a run's message: the name and the time of the run, so that no run is stored twice. */
export function runMessageId(name: string, dueAt: number): string {
  return `${name}@${new Date(dueAt).toISOString()}`;
}
