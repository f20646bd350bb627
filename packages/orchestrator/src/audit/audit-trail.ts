import type { BrokerClient, Log } from '@signalbox/client';
import { type AuditReport, auditCodes, frameLimits, messageOf, SignalboxError } from '@signalbox/protocol';
import { visible } from '@signalbox/protocol/internal';

const gatherMs = 100;
const againAfterMs = 1000;
/**
 * The most events that wait while the broker is away. Beyond that the oldest are dropped, and changes last. Calls come through the broker,
 * so few are made meanwhile.
 */
const maxWaiting = 10_000;
/**
 * The longest wait for the broker to take an event that must come before something else, or the last events at the end, in milliseconds.
 */
const waitMs = 2000;
/** The length of all field names and numbers in the JSON text of a report. */
const fieldsLength = 240;
/** The most characters that one character becomes in JSON text. */
const escapeLength = 6;
/** The space for events in the header line of a frame. */
const maxBatchLength = frameLimits.headerLength - 1024;

/** The codes of events whose name is that of a server. */
const aboutServers: ReadonlySet<AuditReport['code']> = new Set([
  'server_changed',
  'server_ejected',
  'server_restored',
  'sign_in_needed',
  'sign_in_accepted',
  'definitions_pinned',
  'definitions_accepted',
]);

/** The dependencies of an {@link AuditTrail}. */
export interface AuditTrailDeps {
  client: Pick<BrokerClient, 'audit' | 'state'>;
  /** Returns the label of the orchestrator that runs a server, if that is another one. */
  hostOf: (server: string) => string | undefined;
  /** Returns epoch milliseconds. */
  now: () => number;
  /** Returns monotonic milliseconds. */
  monotonic: () => number;
  log: Log;
}

/** An event, and when it happened, in epoch milliseconds. */
interface DatedReport {
  report: AuditReport;
  happenedAt: number;
}

interface Waiting extends DatedReport {
  /** The time at which it came, in monotonic milliseconds. */
  at: number;
  /** Called when the broker has recorded it, or refused it for good. */
  onTaken?: () => void;
}

/**
 * Reports events to the broker's audit log, in batches, so that calls do not wait. Each batch is sent until the broker has it, and is
 * recorded once. The death of this process loses the events of about the last tenth of a second.
 */
export class AuditTrail implements AsyncDisposable {
  readonly #deps: AuditTrailDeps;
  #waiting: Waiting[] = [];
  /** Refused calls that wait, by agent, role and tool, so that a flood of them is one event. */
  readonly #refused = new Map<string, { count: number }>();
  /** The number of events that were dropped. */
  #lost = 0;
  #timer: NodeJS.Timeout | undefined;
  #sending: Promise<void> | undefined;
  /** The number of events of the batch that is being sent. */
  #unconfirmed = 0;
  #isEnded = false;

  constructor(deps: AuditTrailDeps) {
    this.#deps = deps;
  }

  /** Reports an event that happens now, or happened at a time in epoch milliseconds. */
  record(given: AuditReport, happenedAt: number = this.#deps.now()): void {
    if (this.#isEnded) return;
    const report = this.#withHost(given);
    if (report.code === 'call_refused' && this.#isCounted(report)) return;
    this.#add({ report, happenedAt, at: this.#deps.monotonic() });
  }

  /** Reports an event before the described action happens. Resolves when the broker has it, or after two seconds. */
  async recordBefore(given: AuditReport): Promise<void> {
    if (this.#isEnded) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    const { now, monotonic } = this.#deps;
    this.#add({ report: this.#withHost(given), happenedAt: now(), at: monotonic(), onTaken: resolve });
    this.#send();
    await within(waitMs, promise);
  }

  #withHost(given: AuditReport): AuditReport {
    const server = given.server ?? (aboutServers.has(given.code) ? given.name : undefined);
    const host = server === undefined ? undefined : this.#deps.hostOf(server);
    return fitting(host === undefined ? given : { ...given, host });
  }

  #add(event: Waiting): void {
    this.#waiting.push(event);
    if (this.#waiting.length > maxWaiting) {
      const oldest = this.#waiting.findIndex(({ report }) => auditCodes[report.code].kind !== 'change');
      this.#forget(this.#waiting.splice(Math.max(0, oldest), 1)[0]!.report);
      this.#lost++;
    }
    this.#sendLater();
  }

  #sendLater(): void {
    this.#timer ??= setTimeout(() => this.#send(), gatherMs).unref();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#send();
    this.#isEnded = true;
    if (this.#deps.client.state.name === 'ready' && this.#sending) await within(waitMs, this.#sending);
    clearTimeout(this.#timer);
    const left = this.#waiting.length + this.#lost + this.#unconfirmed;
    if (left > 0) this.#deps.log({ event: 'audit_lost', events: left });
    this.#waiting = [];
  }

  /** Counts a refused call. Returns false if it is the first of its agent, role and tool that waits. */
  #isCounted(report: AuditReport): boolean {
    const key = refusalKey(report);
    const known = this.#refused.get(key);
    if (known) known.count++;
    else this.#refused.set(key, { count: 1 });
    return known !== undefined;
  }

  #forget(report: AuditReport): void {
    if (report.code === 'call_refused') this.#refused.delete(refusalKey(report));
  }

  #send(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#sending ??= this.#sendAll().finally(() => {
      this.#sending = undefined;
      if (this.#isEnded) return;
      if (this.#isUrgent) this.#send();
      else if (this.#waiting.length > 0) this.#sendLater();
    });
  }

  /** True if somebody waits until an event is recorded. */
  get #isUrgent(): boolean {
    return this.#waiting.some(({ onTaken }) => onTaken !== undefined);
  }

  /**
   * Sends batch after batch, until what waits has just come and is less than a batch. If the broker can't take one now, it stays at the front,
   * with its id.
   */
  async #sendAll(): Promise<void> {
    const { monotonic } = this.#deps;
    const startedAt = monotonic();
    for (let isFirst = true; this.#waiting.length > 0 || this.#lost > 0; isFirst = false) {
      const isNew = (this.#waiting[0]?.at ?? 0) >= Math.max(startedAt, monotonic() - gatherMs);
      const mayWait = isNew && this.#waiting.length < frameLimits.auditEvents;
      if (!isFirst && mayWait && !this.#isUrgent && !this.#isEnded) return;
      const { id, events, taken } = this.#batch();
      this.#unconfirmed = events.length;
      while (!(await this.#isTaken(id, events))) {
        if (this.#isEnded) return;
        await new Promise((resolve) => setTimeout(resolve, againAfterMs).unref());
      }
      this.#unconfirmed = 0;
      for (const { onTaken } of taken) onTaken?.();
    }
  }

  /** Takes as many events as fit into a frame. */
  #batch(): { id: string; events: DatedReport[]; taken: Waiting[] } {
    const events: DatedReport[] = [];
    if (this.#lost > 0) {
      const detail = 'the broker was away for too long';
      const report: AuditReport = { code: 'audit_events_lost', count: this.#lost, detail };
      events.push({ report, happenedAt: this.#deps.now() });
    }
    this.#lost = 0;
    let length = 0;
    let count = 0;
    for (const { report, happenedAt } of this.#waiting) {
      length += lengthOf(report);
      if (events.length === frameLimits.auditEvents || (count > 0 && length > maxBatchLength)) break;
      const counted = report.code === 'call_refused' ? this.#refused.get(refusalKey(report)) : undefined;
      events.push({ report: counted ? { ...report, ...counted } : report, happenedAt });
      count++;
      this.#forget(report);
    }
    return { id: crypto.randomUUID(), events, taken: this.#waiting.splice(0, count) };
  }

  /** Reports a batch. Returns false if it must be reported again. A batch that the broker refuses for good is logged. */
  async #isTaken(id: string, events: readonly DatedReport[]): Promise<boolean> {
    const sentAt = this.#deps.now();
    const aged = events.map(({ report, happenedAt }) => ({
      ...report,
      ago_ms: Math.min(Math.max(0, sentAt - happenedAt), frameLimits.auditAgoMs),
    }));
    try {
      await this.#deps.client.audit(id, aged, sentAt);
    } catch (thrown) {
      if (thrown instanceof SignalboxError && (thrown.retryable || thrown.code === 'timed_out')) return false;
      this.#deps.log({ event: 'audit_failed', events: events.length, reason: messageOf(thrown) });
    }
    return true;
  }
}

/** Makes the texts of a report acceptable to the broker: tools and servers may have any names. */
function fitting(report: AuditReport): AuditReport {
  const { name, server, rule, detail } = report;
  const fits =
    fitsLine(detail, frameLimits.auditDetailLength) &&
    fitsLine(name, 256) &&
    fitsLine(server, 256) &&
    fitsLine(rule, frameLimits.auditDetailLength);
  if (fits) return report;
  return {
    ...report,
    name: name && line(name, 256),
    server: server && line(server, 256),
    rule: rule && line(rule, frameLimits.auditDetailLength),
    detail: line(detail, frameLimits.auditDetailLength),
  };
}

const unusual = /[^ -~]/;

/** Tells whether a text is one line of at most this many characters. */
function fitsLine(text: string | undefined, length: number): boolean {
  return text === undefined || text === '' || (text.length <= length && !unusual.test(text));
}

/** Writes a text as one line of at most this many characters. */
function line(text: string, length: number): string {
  if (fitsLine(text, length)) return text;
  return visible(text).replace(/\s+/g, ' ').slice(0, length);
}

/** Returns an upper bound of the length of a report as JSON text. */
function lengthOf(report: AuditReport): number {
  const { name, server, host, rule, detail, agent, role, outcome, request_id: id, thread } = report;
  let length = fieldsLength;
  for (const text of [name, server, host, rule, detail, agent, role, outcome, id, thread]) {
    if (text) length += /^[ !#-[\]-~]*$/.test(text) ? text.length : escapeLength * text.length;
  }
  return length;
}

function refusalKey({ agent, role, name, outcome }: AuditReport): string {
  return `${agent} ${role} ${outcome} ${name}`;
}

async function within(ms: number, work: Promise<void>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  await Promise.race([
    work,
    new Promise<void>((resolve) => {
      timer = setTimeout(resolve, ms);
    }),
  ]);
  clearTimeout(timer);
}
