import { once } from 'node:events';
import { messageOf, SignalboxError } from '@signalbox/protocol';

/** A failure in the form that `--json` prints under `error` and that a supervised child reports. */
export interface Failure {
  code: string;
  message: string;
  retryable: boolean;
  [fact: string]: unknown;
}

/** The report of a supervised child: a step of its work, that it is ready, or that it has failed. */
export type ChildReport =
  | { progress: Record<string, unknown> }
  | { ready: Record<string, unknown> }
  | { failure: Failure };

/** The variable that tells a process that it is supervised: it reports over its channel and prints nothing. */
export const supervisedVariable = 'SIGNALBOX_SUPERVISED';

/** Returns true in a process that a {@link SupervisedChild} started. */
export function isSupervised(): boolean {
  return process.env[supervisedVariable] !== undefined && process.send !== undefined;
}

/** The value of {@link supervisedVariable} in a child to which the supervisor hands something over. */
export const handedValue = 'handed';

/** Returns what the supervisor hands over to this process at its start; `undefined` if it hands nothing over. */
export async function handedOver(): Promise<unknown> {
  if (!isSupervised() || process.env[supervisedVariable] !== handedValue) return undefined;
  const [handed] = await once(process, 'message');
  return handed;
}

/** Reports to the supervisor. Resolves when the report is sent, or when the supervisor has gone. */
export function reportToSupervisor(report: ChildReport): Promise<void> {
  return new Promise((resolve) => {
    if (!process.connected) resolve();
    else process.send?.(report, undefined, undefined, () => resolve());
  });
}

/** Turns a thrown value into a failure, with its own code if that has our form, else `internal`. */
export function failureOf(thrown: unknown): Failure {
  if (thrown instanceof SignalboxError) {
    return { ...thrown.details, code: thrown.code, message: thrown.message, retryable: thrown.retryable };
  }
  const own = thrown instanceof Error && 'code' in thrown ? String(thrown.code) : '';
  return {
    code: /^[a-z][a-z_]+$/.test(own) ? own : 'internal',
    message: messageOf(thrown),
    retryable: false,
  };
}

/** Turns a failure that another process reported into an error again. */
export function errorOf({ code, message, retryable, ...details }: Failure): SignalboxError {
  return new SignalboxError(code, message, { retryable, details });
}
