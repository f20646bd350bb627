import type { Config } from '../config.ts';
import { sharedListenAddress } from './listen-addresses.ts';
import { literalValues } from './literal-values.ts';
import { unknownMappedRoles } from './mapped-roles.ts';
import { unknownRecipients } from './unknown-recipients.ts';
import { unmatchedPatterns } from './unmatched-patterns.ts';

/** Warns of settings that are valid alone and contradict other parts of the configuration. `file` is the name that people gave it. */
export function configWarnings(config: Config, file: string): string[] {
  return [
    ...unmatchedPatterns(config, file),
    ...unknownMappedRoles(config, file),
    ...sharedListenAddress(config, file),
    ...unknownRecipients(config, file),
    ...literalValues(config),
  ];
}
