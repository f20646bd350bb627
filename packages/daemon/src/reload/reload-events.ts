import { SignalboxError } from '@signalbox/protocol';
import type { LogEvent } from '../log.ts';
import { changeLines, type NameChanges } from './config-changes.ts';

/** The changes that a changed configuration makes. */
export interface AppliedChanges {
  servers: NameChanges;
  roles: NameChanges;
  /** Keys of other rules that are in force now. */
  policy: readonly string[];
  /** Keys whose new value takes effect after a restart. */
  restart: readonly string[];
  /** Keys whose new value takes effect when the broker gets SIGHUP. */
  hangup: readonly string[];
  /** New warnings. */
  warnings: readonly string[];
}

/** Describes what changed and what needs a restart. With `always`, an event says so even if nothing changed. */
export function appliedEvents(file: string, changes: AppliedChanges, always: boolean): LogEvent[] {
  const { servers, roles, policy, restart, hangup, warnings } = changes;
  const lines = changeLines({ servers, roles, policy });
  const events: LogEvent[] = warnings.map((message) => ({ event: 'config_warning', level: 'warn', message }));
  if (lines.length > 0) {
    const message = `${file} is in force: ${lines.join('; ')}`;
    events.push({ event: 'config_applied', level: 'info', message, servers, roles, policy });
  } else if (always) {
    const message = `${file} is right, and nothing changed`;
    events.push({ event: 'config_unchanged', level: 'info', message });
  }
  if (restart.length > 0) {
    const message = `${file}: needs a restart: ${restart.join(', ')}`;
    events.push({ event: 'restart_needed', level: 'warn', message, restart });
  }
  if (hangup.length > 0) {
    const message = `${file}: the broker takes over ${hangup.join(', ')} at SIGHUP: send it to signalbox up, or to the broker`;
    events.push({ event: 'hangup_needed', level: 'warn', message, hangup });
  }
  return events;
}

/** Describes why a changed configuration is not in force. */
export function refusedEvent(file: string, error: unknown): LogEvent {
  const kept = 'everything stays as it is';
  if (error instanceof SignalboxError && ['bad_config', 'exposed'].includes(error.code)) {
    const message = `${file} is wrong, ${kept}:\n${error.message}`;
    return { event: 'config_refused', level: 'error', message };
  }
  return {
    event: 'config_refused',
    level: 'error',
    message: `${file} could not be put in force, ${kept}`,
    error,
  };
}
