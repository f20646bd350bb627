import { SignalboxError } from '@signalbox/protocol';
import type { Logger } from 'pino';
import { changeLines, type NameChanges } from './config-changes.ts';

/** What a changed configuration changed. */
export interface AppliedChanges {
  servers: NameChanges;
  roles: NameChanges;
  /** Keys of other rules that are in force now. */
  policy: readonly string[];
  /** Keys whose new value counts only after a restart. */
  restart: readonly string[];
  /** New ones, of a configuration that is right nevertheless. */
  warnings: readonly string[];
}

/** Says what changed, and what needs a restart. With `always`, also that nothing did. */
export function reportApplied(log: Logger, file: string, changes: AppliedChanges, always: boolean): void {
  const { servers, roles, policy, restart, warnings } = changes;
  const lines = changeLines({ servers, roles, policy });
  for (const warning of warnings) log.warn(warning);
  if (lines.length > 0) {
    log.info({ event: 'config_applied', servers, roles, policy }, `${file} is in force: ${lines.join('; ')}`);
  } else if (always) {
    log.info({ event: 'config_unchanged' }, `${file} is right, and nothing changed`);
  }
  if (restart.length > 0) {
    log.warn({ event: 'restart_needed', restart }, `${file}: needs a restart: ${restart.join(', ')}`);
  }
}

/** Says why a changed configuration is not in force. */
export function reportRefused(log: Logger, file: string, error: unknown): void {
  const kept = 'everything stays as it is';
  if (error instanceof SignalboxError && error.code === 'bad_config') {
    log.error({ event: 'config_refused' }, `${file} is wrong, ${kept}:\n${error.message}`);
  } else {
    log.error({ event: 'config_refused', err: error }, `${file} could not be put in force, ${kept}`);
  }
}
