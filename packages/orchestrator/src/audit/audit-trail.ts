import type { BrokerClient, Log } from '@signalbox/client';
import { type AuditReport, auditCodes, frameLimits, messageOf, SignalboxError } from '@signalbox/protocol';
import { visible } from '@signalbox/protocol/internal';

const gatherMs = 100;
const againAfterMs = 1000;
/**
 * The most events that wait while the broker is away. Beyond that the oldest are given up, changes last of all. Calls come through
 * the broker, so few are made meanwhile.
 */
const maxWaiting = 10_000;
/** The time that the trail waits until the broker has an event that comes before something else, and the last events at its end. */
const waitMs = 2000;
/** The space that the names of all fields and their numbers take in the JSON text of a report. */
const fieldsLength = 230;
/** The most characters that one character becomes in JSON text. */
const escapeLength = 6;
/** The space for events in the header line of a frame. */
const maxBatchLength = frameLimits.headerLength - 1024;

/** The dependencies of an {@link AuditTrail}. */
export interface AuditTrailDeps {
  client: Pick<BrokerClient, 'audit' | 'state'>;
  /** Returns monotonic milliseconds. */
  monotonic: () => number;
  log: Log;
}

interface Waiting {
  report: AuditReport;
  /** Monotonic milliseconds. */
  at: number;
  /** Called when the broker has it, or refused it for good. */
  onTaken?: () => void;
}

/**
 * Reports what happens here to the broker's audit log, in batches and off the way of calls. Each batch is sent until the broker has it,
 * and recorded once. The death of this process loses what happened in the last tenth of a second or so.
 */
export class AuditTrail implements AsyncDisposable {
  readonly #deps: AuditTrailDeps;
  #waiting: Waiting[] = [];
  /** Refused calls that wait, by agent, role and tool, so that a flood of them is one event. */
  readonly #refused = new Map<string, { count: number }>();
  /** The number of events that were given up. */
  #lost = 0;
  #timer: NodeJS.Timeout | undefined;
  #sending: Promise<void> | undefined;
  /** The number of events of the batch that is being sent. */
  #unconfirmed = 0;
  #isEnded = false;

  constructor(deps: AuditTrailDeps) {
    this.#deps = deps;
  }

  /** Reports an event that happens now. */
  record(given: AuditReport): void {
    if (this.#isEnded) return;
    const report = fitting(given);
    if (report.code === 'call_refused' && this.#isCounted(report)) return;
    this.#add({ report, at: this.#deps.monotonic() });
  }

  /** Reports an event before what it tells of happens: resolves when the broker has it, or has not taken it for two seconds. */
  async recordBefore(given: AuditReport): Promise<void> {
    if (this.#isEnded) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#add({ report: fitting(given), at: this.#deps.monotonic(), onTaken: resolve });
    this.#send();
    await within(waitMs, promise);
  }

  #add(event: Waiting): void {
    this.#waiting.push(event);
    if (this.#waiting.length > maxWaiting) {
      const oldest = this.#waiting.findIndex(({ report }) => auditCodes[report.code].kind !== 'change');
      this.#forget(this.#waiting.splice(Math.max(0, oldest), 1)[0]!.report);
      this.#lost++;
    }
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

  /** Counts a refused call with one that waits already. */
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
    });
  }

  /** Sends batch after batch. One that the broker can't take now waits at the front, with its id. */
  async #sendAll(): Promise<void> {
    while (this.#waiting.length > 0 || this.#lost > 0) {
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
  #batch(): { id: string; events: AuditReport[]; taken: Waiting[] } {
    const now = this.#deps.monotonic();
    const events: AuditReport[] = [];
    if (this.#lost > 0)
      events.push({
        code: 'audit_events_lost',
        count: this.#lost,
        detail: 'the broker was away for too long',
      });
    this.#lost = 0;
    let length = 0;
    let count = 0;
    for (const { report, at } of this.#waiting) {
      length += lengthOf(report);
      if (events.length === frameLimits.auditEvents || (count > 0 && length > maxBatchLength)) break;
      const counted = report.code === 'call_refused' ? this.#refused.get(refusalKey(report)) : undefined;
      events.push({ ...report, ...counted, ago_ms: Math.max(0, Math.round(now - at)) });
      count++;
      this.#forget(report);
    }
    return { id: crypto.randomUUID(), events, taken: this.#waiting.splice(0, count) };
  }

  /** Reports a batch. Returns false if it is to be reported again. A batch that the broker refuses for good is logged. */
  async #isTaken(id: string, events: readonly AuditReport[]): Promise<boolean> {
    try {
      await this.#deps.client.audit(id, events);
    } catch (thrown) {
      if (thrown instanceof SignalboxError && (thrown.retryable || thrown.code === 'timed_out')) return false;
      this.#deps.log({ event: 'audit_failed', events: events.length, reason: messageOf(thrown) });
    }
    return true;
  }
}

/** Makes the texts of a report such that the broker takes them: tools and servers may have any names. */
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

/** Returns true if a text is on one line of at most so many characters. */
function fitsLine(text: string | undefined, length: number): boolean {
  return text === undefined || text === '' || (text.length <= length && !unusual.test(text));
}

/** Writes a text on one line of at most so many characters. */
function line(text: string, length: number): string {
  if (fitsLine(text, length)) return text;
  return visible(text).replace(/\s+/g, ' ').slice(0, length);
}

/** Returns at least the length of a report as JSON text. */
function lengthOf({ name, server, rule, detail, agent, role, outcome, request_id: id }: AuditReport): number {
  let length = fieldsLength;
  for (const text of [name, server, rule, detail, agent, role, outcome, id]) {
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
