/** The checks of `signalbox doctor`, in the order in which they are shown. */
export const checkNames = [
  'node',
  'configuration',
  'imports',
  'data',
  'disk',
  'exposure',
  'database',
  'descriptors',
  'port',
  'tls',
  'auth',
  'broker',
  'clock',
  'tokens',
  'servers',
  'a2a',
  'agents',
] as const;

/** The name of a check. */
export type CheckName = (typeof checkNames)[number];

/** One result of a check. `fix` says what to do about a warning or a failure. No text holds a secret. */
export interface Finding {
  status: 'ok' | 'warning' | 'failed';
  text: string;
  fix?: string;
}

/** A result that is as it should be. */
export function ok(text: string): Finding {
  return { status: 'ok', text };
}

/** A result with which Signalbox works, and which can become a problem. */
export function warning(text: string, fix: string): Finding {
  return { status: 'warning', text, fix };
}

/** A result with which Signalbox, or a part of it, does not work. */
export function failed(text: string, fix: string): Finding {
  return { status: 'failed', text, fix };
}
