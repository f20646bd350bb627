import { SignalboxError } from '@signalbox/protocol/signalbox-error';

/** Called at a named point of a process's work. An ordinary run passes {@link noFault}; a fault test makes the process die there. */
export type Fault = (point: string) => void;

/** A fault port that does nothing, for every run that is no fault test. */
export const noFault: Fault = () => {};

/** The points on a message's path at which a fault test can make a process die. docs/evidence.md explains each. */
export const faultPoints = [
  'broker.deliver.before_commit',
  'broker.deliver.after_commit',
  'broker.push.before',
  'broker.push.after',
  'broker.receipt.before',
  'broker.ack.before_commit',
  'broker.ack.after_commit',
  'broker.journal.before_bind',
  'broker.journal.after_bind',
  'orchestrator.journal.claimed',
  'orchestrator.journal.bound',
  'orchestrator.call.received',
  'orchestrator.approval.proposed',
  'orchestrator.approval.deciding',
  'orchestrator.approval.decided',
  'orchestrator.approval.starting',
  'orchestrator.journal.started',
  'orchestrator.call.sent',
  'orchestrator.call.returned',
  'orchestrator.journal.finished',
  'orchestrator.reply.before',
  'orchestrator.reply.after',
  'worker.call.sent',
  'worker.reply.received',
  'a2a.task.stored',
  'a2a.task.asked',
  'a2a.answer.stored',
  'a2a.task.withdrawn',
  'serve.task.noted',
  'serve.task.sent',
  'serve.task.known',
  'serve.task.answered',
] as const;

/** The environment variable that sets the fault of a process. Its value is the `setting` of {@link faultAt}. */
export const faultVariable = 'SIGNALBOX_FAULT';

/**
 * Makes the fault port for a setting `<point>[:n]`. It calls `strike` once, at the n-th passing of that point; `n` is 1 unless given.
 * Throws a `SignalboxError` with the code `usage` for an unknown point or a malformed number, so that a misspelt setting is noticed.
 */
export function faultAt(setting: string, strike: () => void): Fault {
  const [point = '', count = '1', ...rest] = setting.split(':');
  if (!(faultPoints as readonly string[]).includes(point)) {
    throw badSetting(`'${point}' is no fault point; the points are ${faultPoints.join(', ')}`);
  }
  if (rest.length > 0 || !/^[1-9]\d{0,8}$/.test(count)) {
    throw badSetting(`'${setting}' must be a fault point, or one with a number from 1: ${point}:3`);
  }
  let left = Number(count);
  return (passed) => {
    if (passed === point && --left === 0) strike();
  };
}

function badSetting(problem: string): SignalboxError {
  return new SignalboxError('usage', `${faultVariable}: ${problem}`);
}
